package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What an action returns that has asked a store for another key, or used another transaction, is told as it is, and says nothing about the
// action's own key: it was run once, and can be run again.
func TestAnActionReturnsTheErrorOfAnotherKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, theirs := range []error{
		errLimit, store.Unavailable(errLimit), store.Indeterminate(errEnded), store.Unavailable(errClosed), sql.ErrTxDone, context.Canceled,
		store.ErrSerialization, store.Corrupt(machine.Digest{1}, errEnded), &store.Refusal{},
	} {
		key, runs := newBegin(), 0
		act := func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			runs++
			_, err := placing(key)(ctx, tx)
			return machine.Response{}, errors.Join(err, theirs)
		}
		same := func(err error) bool {
			for _, kind := range []error{theirs, errEnded, errLimit, store.ErrUnavailable, store.ErrIndeterminate, store.ErrSerialization, store.ErrCorrupt} {
				if errors.Is(err, kind) != errors.Is(theirs, kind) {
					return false
				}
			}
			return true
		}
		if effect, err := s.effects().Do(t.Context(), s.db, invocation(key), act); !same(err) || runs != 1 {
			t.Errorf("%v: %+v, %v after %d runs", theirs, effect, err, runs)
		}
		tx := s.begin(s.db)
		effect, err := s.effects().JoinSQL(t.Context(), tx, invocation(anotherCaller(key)), func(ctx context.Context) (machine.Response, error) { return act(ctx, tx) })
		if !same(err) || runs != 2 {
			t.Errorf("%v: joined: %+v, %v after %d runs", theirs, effect, err, runs)
		}
		if err := tx.Commit(); err != nil { // nothing of the action is in it
			t.Error(err)
		}
		if effect, err := s.order(anotherCaller(key)); err != nil || effect.Replayed || s.orders(key) != 1 {
			t.Errorf("%v: again: %+v, %v", theirs, effect, err)
		}
	}
}
