package reprise_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

// slowStore takes its time to deliver a command.
type slowStore struct {
	store.Store
	store.SecretKeeper
	delay time.Duration
}

func (s *slowStore) Apply(ctx context.Context, c machine.Command) (machine.Reply, error) {
	<-time.After(s.delay)
	return s.Store.Apply(context.WithoutCancel(ctx), c)
}

// TestClaimThatArrivesAfterARotation: a process looks at the secret's versions and sends a claim. While it is
// under way a new version is announced, becomes primary, and the key is answered under it. The claim then
// finds no record under the old version, and must not make one.
func TestClaimThatArrivesAfterARotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		one := reprise.Secret{Version: 1, Bytes: secretBytes(1)}
		two := reprise.Secret{Version: 2, Bytes: secretBytes(2), PrimaryFrom: time.Now().Add(reprise.SecretNotice + 32*time.Second)}
		patient := reprise.Policy{Secrets: secrets(t, one), CommandTimeout: 2 * time.Minute, Lease: 10 * time.Minute}
		late, err := reprise.New(&slowStore{s, s, 100 * time.Second}, patient)
		if err != nil {
			t.Fatal(err)
		}
		if err := late.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs := 0
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := late.Do(context.Background(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrSecret) {
				t.Errorf("the late claim: %v", err)
			}
		})
		<-time.After(30 * time.Second)
		next := guardWith(t, s, one, two)
		if err := next.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(64 * time.Second)
		if o, err := next.Do(t.Context(), order("k"), counted(&runs)); err != nil || !o.Ran {
			t.Errorf("under the new version: %+v, %v", o, err)
		}
		all.Wait()
		if runs != 1 {
			t.Errorf("ran %d times", runs)
		}
		closeGuard(t, late)
		closeGuard(t, next)
	})
}

// TestWaiterAcrossARotation: a duplicate waits while a new version becomes primary and the key it waits for
// is given up. It goes on under the new version, with what the store knows by then.
func TestWaiterAcrossARotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		one := reprise.Secret{Version: 1, Bytes: secretBytes(1)}
		two := reprise.Secret{Version: 2, Bytes: secretBytes(2), PrimaryFrom: time.Now().Add(reprise.SecretNotice + 10*time.Second)}
		make := func(versions ...reprise.Secret) *reprise.Guard {
			g, err := reprise.New(s, reprise.Policy{Secrets: secrets(t, versions...), LateStart: true, Wait: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		first, waiter := make(one), make(one, two)
		var all sync.WaitGroup
		all.Go(func() { // holds the key, and gives it up without a trace
			_, err := first.Do(context.Background(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
				<-time.After(2 * reprise.SecretNotice)
				return reprise.Response{}, errAction
			})
			if !errors.Is(err, reprise.ErrNoEffect) {
				t.Error(err)
			}
		})
		<-time.After(time.Second)
		runs := 0
		outcome, err := waiter.Do(t.Context(), order("k"), counted(&runs))
		if err != nil || runs != 1 || outcome.Attempt != 1 {
			t.Errorf("%+v, %v, %d runs", outcome, err, runs)
		}
		if again, err := make(one, two).Do(t.Context(), order("k"), counted(&runs)); err != nil || !again.Replayed {
			t.Errorf("%+v, %v", again, err)
		}
		all.Wait()
		closeGuard(t, first)
		closeGuard(t, waiter)
	})
}

// silentKeeper never answers what versions there are.
type silentKeeper struct {
	store.Store
	store.SecretKeeper
}

func (silentKeeper) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	<-ctx.Done()
	return nil, 0, store.Unavailable(context.Cause(ctx))
}

// TestSilentStoreKeepsNobodyInAQueue: callers that come together are told together, and none waits longer
// than its own context.
func TestSilentStoreKeepsNobodyInAQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New(nil)
		g, err := reprise.New(silentKeeper{m, m}, reprise.Policy{Secrets: secrets(t, reprise.Secret{Version: 1, Bytes: secretBytes(1)})})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*100*time.Millisecond)
				defer cancel()
				if _, err := g.Do(ctx, order("k"), nil); !errors.Is(err, reprise.ErrUnavailable) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != reprise.DefaultCommandTimeout {
			t.Errorf("the last was told after %v", took)
		}
		closeGuard(t, g)
	})
}
