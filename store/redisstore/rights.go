package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// Lack is a call that Redis does not let the user of a DSN make.
type Lack struct {
	// Server is the address of the one that was asked: users and their rights are each server's own.
	Server string
	// Call is what was asked about, as words.
	Call []string
	// Key says that the user may call the command, and not with these keys.
	Key bool
	// Unknown says that the server has no such command, for any user.
	Unknown bool
}

// Lacks asks every server that a DSN leads to, replicas too, which of some calls its user may not make. No call is made: they are put in a
// transaction that the server has to refuse as a whole, and it judges the rights of each when it is put there. So it says the same of an empty Redis, of one
// that is full, and of one whose data is another's. A server that does not answer is left out if another one lacks something; else it is an error.
func Lacks(ctx context.Context, dsn string, calls [][]string, options Options) (all []Lack, err error) {
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return nil, err
	}
	defer s.client.Close()
	for address, client := range s.client.Nodes() {
		found, failure := lacksOn(ctx, client, calls)
		for _, l := range found {
			l.Server = address
			all = append(all, l)
		}
		err = errors.Join(err, failure)
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, err
}

// lacksOn asks one server. The transaction ends with a call that no server takes, so that it is refused.
func lacksOn(ctx context.Context, client rueidis.Client, calls [][]string) (all []Lack, err error) {
	conn, release := client.Dedicate()
	defer release()
	// Alone and first: where it is refused, what follows would be done.
	if err := conn.Do(ctx, conn.B().Multi().Build()).Error(); err != nil {
		if l, lacks := lackOf([]string{"MULTI"}, err); lacks {
			return []Lack{l}, nil
		}
		return nil, unread(ctx, err)
	}
	var commands rueidis.Commands
	for _, words := range append(slices.Clone(calls), []string{"GET"}, []string{"EXEC"}) {
		commands = append(commands, conn.B().Arbitrary(words...).Build())
	}
	replies := conn.DoMulti(ctx, commands...)
	end := replies[len(replies)-1].Error()
	text, _ := replyOf(end)
	if strings.Contains(text, "NOPERM") {
		return []Lack{{Call: []string{"EXEC"}}}, nil // the connection ends, and the transaction with it
	}
	if !strings.HasPrefix(text, "EXECABORT") {
		return nil, unread(ctx, fmt.Errorf("ask for rights: the transaction was not refused, as it has to be: %w", errors.Join(end, errNoAbort)))
	}
	for i, words := range calls {
		if l, lacks := lackOf(words, replies[i].Error()); lacks {
			all = append(all, l)
		}
	}
	return all, nil
}

var errNoAbort = errors.New("no EXECABORT came")

// lackOf says what an error reply to a call says of the user's rights. Any other reply comes after they were looked at.
func lackOf(call []string, err error) (l Lack, lacks bool) {
	text, _ := replyOf(err)
	l = Lack{Call: call, Key: strings.Contains(text, " key"), Unknown: strings.HasPrefix(text, "ERR unknown command")}
	return l, l.Unknown || strings.HasPrefix(text, "NOPERM")
}
