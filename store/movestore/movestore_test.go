package movestore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/movestore"
	"github.com/reprise-dev/reprise/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock stands still unless it is moved.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) time() time.Time         { return time.UnixMicro(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(d.Microseconds()) }

// stores returns a new store and one that knows of a secret, on one clock.
func stores(t testing.TB, c *clock) (primary, previous *memstore.Store) {
	t.Helper()
	primary, previous = memstore.New(c.time), memstore.New(c.time)
	if err := previous.AddSecret(t.Context(), store.Secret{Version: 1, Check: machine.Digest{7}}, 0); err != nil {
		t.Fatal(err)
	}
	return primary, previous
}

// open opens two stores as one, which makes new keys in the primary one after some time.
func open(t testing.TB, primary, previous store.Store, c *clock, after time.Duration) *movestore.Store {
	t.Helper()
	s, err := movestore.Open(t.Context(), primary, previous, movestore.Options{From: c.time().Add(after), Ahead: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tested is two stores as one, whose secrets are kept elsewhere: while records move, none is added.
type tested struct {
	store.Store
	store.Lister
	store.Watcher
	store.SecretKeeper
	keeper *memstore.Store
}

// Close closes the keeper too.
func (s tested) Close() error { return errors.Join(s.Store.Close(), s.keeper.Close()) }

// purging is one that purges, too.
type purging struct {
	tested
	store.Purger
}

// Two stores behave as one: before the instant of the move, after it, and while it passes. Then what is forgotten in the
// previous store is not seen there any more; it is there until it is purged.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"before": 100 * 365 * 24 * time.Hour, "after": time.Millisecond, "passing": 90 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				c := newClock()
				primary, previous := stores(t, c)
				both, keeper := open(t, primary, previous, c, after), memstore.New(c.time)
				one := tested{both, both, both, keeper, keeper}
				h := storetest.Harness{Open: func() (store.Store, error) { return purging{one, both}, nil }, Advance: c.advance, Sampled: name != "passing"}
				switch name {
				case "after":
					c.advance(after)
				case "passing":
					h.Open, h.Fades = func() (store.Store, error) { return one, nil }, true
				}
				return h
			})
		})
	}
}

// delayed is a store whose next reply to a begin arrives when others have done something.
type delayed struct {
	store.Store
	meanwhile func()
}

func (s *delayed) Unwrap() store.Store { return s.Store }

func (s *delayed) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	reply, err := s.Store.Apply(ctx, command)
	if _, begins := command.(machine.Begin); begins && s.meanwhile != nil {
		meanwhile := s.meanwhile
		s.meanwhile = nil
		meanwhile()
	}
	return reply, err
}

// That there was no record before the instant of the move is not for good, whenever the reply that says so arrives: another
// process may have made one since.
func TestReplyFromBeforeTheMove(t *testing.T) {
	t.Parallel()
	c := newClock()
	soon := machine.InstantOf(c.time().Add(time.Second))
	for name, bound := range map[string]func(*machine.Claim){
		"too late under its version":  func(claim *machine.Claim) { claim.CreateBefore = 1 },
		"too early under its version": func(claim *machine.Claim) { claim.CreateFrom = soon },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			primary, previous := stores(t, c)
			late := &delayed{Store: previous}
			here, there := open(t, primary, late, c, time.Minute), open(t, primary, previous, c, time.Minute)
			t.Cleanup(func() {
				if err := errors.Join(here.Close(), there.Close()); err != nil {
					t.Error(err)
				}
			})
			begin := func(s store.Store, key, caller byte, bound func(*machine.Claim)) machine.Reply {
				b := machine.Begin{Claim: machine.Claim{
					Scope: machine.Scope{Operation: "POST /x", SecretVersion: 1, Digest: machine.Digest{key}}, Owner: machine.Token{caller}, Operation: machine.ID{caller},
					Lease: time.Hour, Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{9}}}, Codecs: []string{"text/1"},
				}, Nonce: machine.Nonce{caller}}
				bound(&b.Claim)
				reply, err := s.Apply(t.Context(), b)
				if err != nil {
					t.Error(err)
				}
				return reply
			}
			free := func(*machine.Claim) {}
			late.meanwhile = func() {
				c.advance(2 * time.Second)
				if reply := begin(there, 1, 2, free); reply.Outcome != machine.Acquired {
					t.Errorf("the other process: %v", reply.Outcome)
				}
				c.advance(time.Minute)
				begin(here, 2, 3, free) // learns that the instant has passed
			}
			if reply := begin(here, 1, 1, bound); reply.Outcome != machine.Barred {
				t.Errorf("whom the previous store barred before the move: %v", reply.Outcome)
			}
			if reply := begin(here, 1, 4, free); reply.Outcome != machine.InProgress {
				t.Errorf("a key that another process runs: %v", reply.Outcome)
			}
		})
	}
}
