package reprise_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

// unwatched hides that a store wakes who waits, so that they poll.
type unwatched struct {
	store.Store
	store.SecretKeeper
}

func (u unwatched) Close() error { return u.Store.Close() }

func TestDuplicatesWaitForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]bool{"woken": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New(nil)
				var s store.Store = mem
				if poll {
					s = unwatched{mem, mem}
				}
				g, _ := guardOver(t, s, nil, reprise.Policy{Wait: time.Minute})
				defer closeGuard(t, g)
				var runs atomic.Int32
				var all sync.WaitGroup
				for range 50 {
					all.Go(func() {
						outcome, err := g.Do(context.Background(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
							runs.Add(1)
							return lasting(20*time.Second)(ctx, run)
						})
						if err != nil || string(outcome.Response.Data) != "done" {
							t.Errorf("%+v, %v", outcome, err)
						}
					})
				}
				all.Wait()
				if runs.Load() != 1 {
					t.Errorf("ran %d times", runs.Load())
				}
			})
		})
	}
}

// restless wakes who waits all the time.
type restless struct {
	store.Store
	store.SecretKeeper
}

func (r restless) Close() error { return r.Store.Close() }

func (restless) Watch(machine.Scope, uint64) (<-chan struct{}, func()) {
	changed := make(chan struct{})
	close(changed)
	return changed, func() {}
}

// TestWhoWaitsAsksEverMoreRarely: whether a store wakes nobody, or wakes for nothing, because it cannot read the
// record, say, a duplicate that waits does not keep it busy.
func TestWhoWaitsAsksEverMoreRarely(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(*memstore.Store) store.Store{
		"wakes nobody":      func(m *memstore.Store) store.Store { return unwatched{m, m} },
		"wakes for nothing": func(m *memstore.Store) store.Store { return restless{m, m} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, s := guardOver(t, wrap(memstore.New(nil)), nil, reprise.Policy{Wait: time.Minute})
				defer closeGuard(t, g)
				call := order(name)
				var first sync.WaitGroup
				first.Go(func() { _, _ = g.Do(context.Background(), call, lasting(9*time.Second)) }) // less than a renewal takes
				synctest.Wait()
				s.SetPlan(faultstore.None) // counts anew
				if _, err := g.Do(t.Context(), call, lasting(0)); err != nil {
					t.Error(err)
				}
				first.Wait()
				if asked := s.Commands(); asked > 40 {
					t.Errorf("asked %d times in 9 seconds", asked)
				}
			})
		})
	}
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := guardOver(t, memstore.New(nil), nil, reprise.Policy{Wait: 5 * time.Second})
		defer closeGuard(t, g)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := g.Do(context.Background(), order("k"), lasting(time.Minute)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		began := time.Now()
		_, err := g.Do(t.Context(), order("k"), lasting(0))
		var e *reprise.Error
		if !errors.As(err, &e) || e.Kind != reprise.ErrInProgress || e.RetryAfter <= 0 || e.RetryAfter > reprise.DefaultLease {
			t.Errorf("%v", err)
		}
		if waited := time.Since(began); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("waited %v", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Do(ctx, order("k"), lasting(0)); !errors.Is(err, reprise.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that leaves while it waits: %v", err)
		}
		all.Wait()
	})
}

// TestWaiterTakesOverWhatFailed: the call in flight had no effect, so one of those who wait runs.
func TestWaiterTakesOverWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := guardOver(t, memstore.New(nil), nil, reprise.Policy{Wait: time.Minute})
		defer closeGuard(t, g)
		var all sync.WaitGroup
		all.Go(func() {
			_, err := g.Do(context.Background(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
				<-time.After(time.Second)
				return reprise.Response{}, reprise.NoEffect(errAction)
			})
			if !errors.Is(err, reprise.ErrNoEffect) {
				t.Error(err)
			}
		})
		synctest.Wait()
		var runs atomic.Int32
		for range 10 {
			all.Go(func() {
				_, err := g.Do(context.Background(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
					runs.Add(1)
					return lasting(time.Second)(ctx, run)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if runs.Load() != 1 {
			t.Errorf("%d of those who waited ran", runs.Load())
		}
	})
}
