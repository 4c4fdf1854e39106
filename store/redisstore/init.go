package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
// like a new one. Where there is a generation or a record already, nothing is changed, and the error is found as [fs.ErrExist]; but
// what an InitNew has left that stopped half-way is completed. It looks at the names of all keys that the servers have.
func InitNew(ctx context.Context, dsn string, options Options) error {
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return err
	}
	defer s.client.Close()
	if err := s.checkServers(ctx); err != nil {
		return err
	}
	known, err := s.readGenerations(ctx)
	if err == nil && known == 0 {
		err = s.noRecords(ctx)
	}
	if err != nil {
		return err
	}
	g, err := s.beginMaking(ctx, known)
	if err != nil {
		return err
	}
	act := Act{What: "init"}
	return s.perform(ctx, &act, g)
}

// noRecords returns an error if a server has a record of any generation: without generations it is one that has lost them, and its keys would
// run again in a new store.
func (s *Store) noRecords(ctx context.Context) error {
	nodes, err := s.primaries(ctx)
	if err != nil {
		return err
	}
	for sc := (scan{store: s, nodes: nodes}); !sc.done(); {
		here, next, err := sc.look(ctx, scanStep)
		if err != nil {
			return err
		}
		if len(here.records)+len(here.void) > 0 {
			return existing(fmt.Sprintf("there are records under the prefix %q, and no bucket has a generation: this store is not new, and has lost data; "+
				"look, and accept what is there with `reprise store init --accept-loss`", s.names.prefix))
		}
		sc.advance(next)
	}
	return nil
}

// beginMaking says that the store is being made and returns its generation, which is that of whoever began.
func (s *Store) beginMaking(ctx context.Context, known int) (machine.Generation, error) {
	mine, err := newGeneration()
	if err != nil {
		return mine, err
	}
	making := s.names.making()
	if known == 0 {
		begin := s.client.B().Set().Key(making).Value(string(mine[:])).Nx().Build()
		if err := s.client.Do(ctx, begin).Error(); err == nil || !rueidis.IsRedisNil(err) {
			return mine, sent(ctx, err)
		}
	}
	begun, err := s.client.Do(ctx, s.client.B().Get().Key(making).Build()).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return mine, existing(fmt.Sprintf("%d of %d buckets under the prefix %q have a generation already: this store is not new; "+
			"if Redis has lost data, `reprise store init --accept-loss` says so", known, Buckets, s.names.prefix))
	case err != nil:
		return mine, unread(ctx, err)
	}
	copy(mine[:], begun)
	for b := range Buckets {
		if g := s.generation(b); g != (machine.Generation{}) && g != mine {
			return mine, existing(fmt.Sprintf("bucket %04d under the prefix %q has a generation from before: this store is not new; "+
				"look, and accept what is there with `reprise store init --accept-loss`", b, s.names.prefix))
		}
	}
	return mine, s.sameServers(ctx)
}

// sameServers returns an error if the store was being made on other servers than these: they may have lost what
// was done since.
func (s *Store) sameServers(ctx context.Context) error {
	text, err := s.client.Do(ctx, s.client.B().Get().Key(s.names.identities(0)).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return unread(ctx, err)
	}
	list := parseRoster(text).identities
	ids, err := s.identities(ctx)
	if err != nil || len(list) == 0 || slices.Equal(ids, list) {
		return err
	}
	return existing(fmt.Sprintf("the store under the prefix %q was made on another server than this one (%v, not %v): it may have been used since; "+
		"look, and accept what is there with `reprise store init --accept-loss`", s.names.prefix, list, ids))
}

// existing says that there is a store. It is found as [fs.ErrExist].
type existing string

func (e existing) Error() string        { return string(e) }
func (e existing) Is(target error) bool { return target == fs.ErrExist }

// whole returns an error while somebody makes the store, or has stopped half-way.
func (s *Store) whole(ctx context.Context) error {
	switch err := s.client.Do(ctx, s.client.B().Get().Key(s.names.making()).Build()).Error(); {
	case rueidis.IsRedisNil(err):
		return nil
	case err != nil:
		return unread(ctx, err)
	}
	return fmt.Errorf("this store is being made, or `reprise store init --new` stopped half-way: run it again, it completes the store")
}

func newGeneration() (g machine.Generation, err error) {
	_, err = rand.Read(g[:])
	return g, err
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
	g, err := newGeneration()
	if err != nil {
		return Act{}, err
	}
	act := Act{What: "accept-loss", Who: who, Why: why}
	return act, s.perform(ctx, &act, g)
}

// KnownSecrets returns the versions of the secret that a store knows which may be refused, as one that has lost data is, and the store's time.
// One that has lost them knows none. It changes nothing.
func KnownSecrets(ctx context.Context, dsn string, options Options) ([]store.Secret, machine.Instant, error) {
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return nil, 0, err
	}
	defer s.client.Close()
	if _, err := s.readGenerations(ctx); err != nil {
		return nil, 0, err
	}
	known, at, err := s.readSecrets(ctx)
	if errors.Is(err, store.ErrLost) {
		return nil, 0, nil
	}
	return known, at, err
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
	s := newStore(client, d, options)
	s.dialer.dsn = d
	return s, nil
}

// perform gives a generation to buckets without one, accepts the servers, and keeps the act. The identities come last:
// until they are there, nobody who is careful sends a command.
func (s *Store) perform(ctx context.Context, act *Act, g machine.Generation) (err error) {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	act.At = now.Time()
	if act.Accepted, err = s.identities(ctx); err != nil {
		return err
	}
	if act.Buckets, err = s.writeGenerations(ctx, g, act.What == actRenew); err != nil {
		return err
	}
	text, err := json.Marshal(act)
	if err != nil {
		return err
	}
	if err := s.client.Do(ctx, s.client.B().Lpush().Key(s.names.acts()).Element(string(text)).Build()).Error(); err != nil {
		return sent(ctx, err)
	}
	servers := roster{act.Accepted, s.dialer.dsn.terms}.String()
	commands := make(rueidis.Commands, Buckets)
	for b := range commands {
		commands[b] = s.client.B().Set().Key(s.names.identities(b)).Value(servers).Build()
	}
	for _, result := range s.client.DoMulti(ctx, commands...) {
		if err := result.Error(); err != nil {
			return sent(ctx, err)
		}
	}
	return sent(ctx, s.client.Do(ctx, s.client.B().Del().Key(s.names.making()).Build()).Error())
}

// identities asks every primary who it is.
func (s *Store) identities(ctx context.Context) (ids []string, err error) {
	nodes, err := s.primaries(ctx)
	for _, n := range nodes {
		if t := s.dialer.dsn.terms; t.replicas > 0 && n.attached > t.replicas {
			return nil, fmt.Errorf("this Redis has %d replicas, and the store's DSN says %v: say how many there are at most", n.attached, t)
		}
		ids = append(ids, n.String())
	}
	slices.Sort(ids)
	return ids, err
}

// writeGenerations gives a generation to every bucket that has none, or to all of them, and returns how many those were.
func (s *Store) writeGenerations(ctx context.Context, g machine.Generation, all bool) (written int, err error) {
	commands := make(rueidis.Commands, Buckets)
	for b := range commands {
		key := s.names.generation(b)
		if all {
			commands[b] = s.client.B().Set().Key(key).Value(string(g[:])).Build()
		} else {
			commands[b] = s.client.B().Set().Key(key).Value(string(g[:])).Nx().Build()
		}
	}
	for _, result := range s.client.DoMulti(ctx, commands...) {
		err := result.Error()
		if err != nil && !rueidis.IsRedisNil(err) {
			return written, sent(ctx, err)
		}
		if err == nil {
			written++
		}
	}
	return written, nil
}
