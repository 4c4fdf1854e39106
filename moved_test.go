package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/movestore"
)

// TestStoreThatIsMoved: a process that knows the previous store alone works until the instant from which new keys are
// made in another store, and makes no record from then on: not even by a claim that was under way for long.
func TestStoreThatIsMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		previous, primary := memstore.New(nil), memstore.New(nil)
		one := reprise.Secret{Version: 1, Bytes: secretBytes(1)}
		old := guardWith(t, previous, one)
		late, err := reprise.New(&slowStore{previous, previous, 150 * time.Second}, reprise.Policy{Secrets: secrets(t, one), CommandTimeout: 3 * time.Minute, Lease: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(old.Check(t.Context()), late.Check(t.Context())); err != nil {
			t.Fatal(err)
		}
		var runs [300]atomic.Int32
		var all sync.WaitGroup
		call := func(g *reprise.Guard, n int) (err error) {
			_, err = g.Do(context.Background(), order(fmt.Sprint("k", n)), func(context.Context, *reprise.Run) (reprise.Response, error) {
				runs[n].Add(1)
				<-time.After(time.Second)
				return reprise.Response{Data: []byte("answer")}, nil
			})
			return err
		}
		both, err := movestore.Open(t.Context(), primary, previous, movestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		next := guardWith(t, both, one)
		all.Go(func() { // it arrives when the key was answered in the other store
			if err := call(late, len(runs)-1); !errors.Is(err, reprise.ErrSecret) {
				t.Errorf("the late claim: %v", err)
			}
		})
		refused := 0
		for n := range runs {
			all.Go(func() {
				if err := call(next, n); err != nil {
					t.Errorf("key %d, with both stores: %v", n, err)
				}
			})
			if n%3 == 0 {
				if err := call(old, n); errors.Is(err, reprise.ErrSecret) {
					refused++
				} else if err != nil {
					t.Errorf("key %d, with the previous store: %v", n, err)
				}
			}
			<-time.After(700 * time.Millisecond)
		}
		all.Wait()
		if refused == 0 || refused == len(runs)/3 {
			t.Errorf("who knows the previous store alone was refused %d times: want neither never nor always", refused)
		}
		for n := range runs {
			if got := runs[n].Load(); got != 1 {
				t.Errorf("key %d ran %d times", n, got)
			}
		}
		closeGuard(t, late)
		closeGuard(t, old)
		closeGuard(t, next)
	})
}
