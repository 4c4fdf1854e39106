package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Act is what an operator did to a store, as it is kept in it.
type Act struct {
	What string    `json:"what"` // "init" or "accept-loss"
	Who  string    `json:"who,omitempty"`
	Why  string    `json:"why,omitempty"`
	At   time.Time `json:"at"` // on the server's clock
	// Buckets is how many buckets got a new generation: what was in them before is void.
	Buckets int `json:"buckets"`
	// Accepted are the identities of the servers from then on.
	Accepted []string `json:"accepted"`
}

// InitNew makes a store on a server that has none under the prefix: it gives every bucket a generation, and
// writes down who the servers are. It is an act of an operator, never of a deployment: a Redis that was emptied looks
// like a new one. Where there is a generation already, nothing is changed.
func InitNew(ctx context.Context, dsn string, options Options) error {
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return err
	}
	defer s.client.Close()
	known, err := s.readGenerations(ctx)
	if err != nil {
		return err
	}
	if known > 0 {
		return fmt.Errorf("%d of %d buckets under the prefix %q have a generation already: this store is not new; "+
			"if Redis has lost data, `reprise store init --accept-loss` says so", known, Buckets, s.names.prefix)
	}
	act := Act{What: "init"}
	return s.perform(ctx, &act)
}

// AcceptLoss accepts the servers as they are now, and gives a new generation to every bucket that has none. Records in
// the others stay as they are. Keys whose records were lost will run again: whoever accepts knows what
// that means for his effects, and says who he is and why. It returns what was done, which is also kept in the
// store.
func AcceptLoss(ctx context.Context, dsn, who, why string, options Options) (Act, error) {
	if strings.TrimSpace(who) == "" || strings.TrimSpace(why) == "" {
		return Act{}, fmt.Errorf("accepting a loss needs who does it and why: it is kept")
	}
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return Act{}, err
	}
	defer s.client.Close()
	act := Act{What: "accept-loss", Who: who, Why: why}
	return act, s.perform(ctx, &act)
}

// openUnchecked is for acts that make the store what [Open] accepts.
func openUnchecked(dsn string, options Options) (*Store, error) {
	d, option, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	client, err := connect(option)
	if err != nil {
		return nil, err
	}
	return newStore(client, d, options), nil
}

// perform gives generations to buckets without one, accepts the servers, and keeps the act. The identities come last:
// until they are there, nobody who is careful sends a command.
func (s *Store) perform(ctx context.Context, act *Act) (err error) {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	act.At = now.Time()
	if act.Accepted, err = s.identities(ctx); err != nil {
		return err
	}
	if act.Buckets, err = s.writeGenerations(ctx); err != nil {
		return err
	}
	text, err := json.Marshal(act)
	if err != nil {
		return err
	}
	if err := s.client.Do(ctx, s.client.B().Lpush().Key(s.names.acts()).Element(string(text)).Build()).Error(); err != nil {
		return sent(ctx, err)
	}
	commands := make(rueidis.Commands, Buckets)
	for b := range commands {
		commands[b] = s.client.B().Set().Key(s.names.identities(b)).Value(strings.Join(act.Accepted, " ")).Build()
	}
	for _, result := range s.client.DoMulti(ctx, commands...) {
		if err := result.Error(); err != nil {
			return sent(ctx, err)
		}
	}
	return nil
}

// identities asks every primary who it is.
func (s *Store) identities(ctx context.Context) (ids []string, err error) {
	for address, node := range s.client.Nodes() {
		var info strings.Builder
		for _, section := range []string{"server", "replication"} {
			text, err := node.Do(ctx, node.B().Info().Section(section).Build()).ToString()
			if err != nil {
				return nil, fmt.Errorf("who is %s: %w", address, unread(ctx, err))
			}
			info.WriteString(text + "\n")
		}
		if m := memberOf(info.String()); !m.replica {
			ids = append(ids, m.String())
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return nil, store.Unavailable(fmt.Errorf("no primary was found among %d servers", len(s.client.Nodes())))
	}
	return ids, nil
}

// writeGenerations gives a new generation to every bucket that has none, and returns how many those were.
func (s *Store) writeGenerations(ctx context.Context) (written int, err error) {
	var generation machine.Generation
	if _, err := rand.Read(generation[:]); err != nil {
		return 0, err
	}
	commands := make(rueidis.Commands, Buckets)
	for b := range commands {
		commands[b] = s.client.B().Setnx().Key(s.names.generation(b)).Value(string(generation[:])).Build()
	}
	for _, result := range s.client.DoMulti(ctx, commands...) {
		made, err := result.AsBool()
		if err != nil {
			return written, sent(ctx, err)
		}
		if made {
			written++
		}
	}
	return written, nil
}
