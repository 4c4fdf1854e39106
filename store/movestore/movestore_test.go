package movestore_test

import (
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
