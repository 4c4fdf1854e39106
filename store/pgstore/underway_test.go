package pgstore

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// opened is an effect in its transaction, which stays open until it is released.
type opened struct {
	key     machine.Begin
	release func()
	ended   chan error
}

// openEffect begins an effect and returns when its action runs.
func (s *shop) openEffect() *opened {
	o := &opened{key: newBegin(), ended: make(chan error, 1)}
	begun, released := make(chan struct{}), make(chan struct{})
	o.release = sync.OnceFunc(func() { close(released) })
	go func() {
		_, err := Do(s.Context(), s.pool, invocation(o.key), func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
			close(begun)
			<-released
			return placeOrder(ctx, tx, o.key.Scope.Digest)
		})
		o.ended <- err
	}()
	<-begun
	return o
}

// end lets the effect end.
func (o *opened) end(t testing.TB) {
	t.Helper()
	o.release()
	if err := <-o.ended; err != nil {
		t.Fatal(err)
	}
}

// An effect stays open on one key, with duplicates of that key arriving: other keys are served meanwhile, by
// hot path and by steps, and whoever asks for the busy key is told that it is in progress.
func TestABusyKeyDelaysNoOther(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.open(Options{})
	busy := shop.openEffect()
	defer busy.release()
	var duplicates, others sync.WaitGroup
	stop := make(chan struct{})
	for range 40 {
		duplicates.Go(func() {
			for {
				other := anotherCaller(busy.key)
				reply := want(t, s, machine.InProgress, other)
				if reply.Revision != 0 || reply.LeaseEnd.Sub(reply.At) != askAgain {
					t.Errorf("a duplicate is told %+v", reply)
				}
				want(t, s, machine.InProgress, other.Claim)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 40 {
		others.Go(func() {
			begin := newBegin()
			want(t, s, machine.Acquired, begin)
			hold := completion(begin, nil).Hold
			renewed := want(t, s, machine.Renewed, machine.Renew{Hold: hold, Lease: time.Minute})
			done := completion(begin, nil)
			done.Revision = renewed.Revision
			want(t, s, machine.CompletedNow, done)
		})
	}
	others.Wait() // while the effect is open, and asked for
	close(stop)
	duplicates.Wait()
	if _, err := shop.order(anotherCaller(busy.key)); err == nil {
		t.Error("an effect on a busy key")
	} else {
		refused(t, err, machine.InProgress)
	}
	want(t, s, machine.NotFound, machine.Inspect{Scope: busy.key.Scope}) // nothing is committed yet
	busy.end(t)
	want(t, s, machine.Replay, anotherCaller(busy.key))
}

// What is no claim waits for the key, as long as its context lives: it is no part of an answer to it that an
// effect is under way.
func TestWhoIsNoClaimWaitsForTheKey(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.open(Options{})
	busy := shop.openEffect()
	defer busy.release()
	renew := machine.Renew{Hold: completion(busy.key, nil).Hold, Lease: time.Minute}
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, ctx := range []context.Context{short, t.Context()} {
		told, outcome := make(chan error, 1), machine.Outcome(0)
		go func() {
			reply, err := s.Apply(ctx, renew)
			outcome = reply.Outcome
			told <- err
		}()
		for !s.turns.Taken(busy.key.Scope.Digest) {
			runtime.Gosched()
		}
		if ctx == short {
			cancel()
			if err := <-told; !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
				t.Errorf("who gave up: %v", err)
			}
			continue
		}
		busy.end(t)
		if err := <-told; err != nil || outcome == machine.Renewed {
			t.Errorf("who waited: %v, %v", outcome, err)
		}
	}
}
