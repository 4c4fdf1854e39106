package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// othersErrors are what an action may return that has asked a store for another key, or used another transaction.
func othersErrors() []error {
	return []error{
		store.Unavailable(errBusy), store.Indeterminate(errEnded), store.Unavailable(errMoved), store.Unavailable(errOvertaken), errNoRow,
		pgx.ErrTxClosed, sql.ErrTxDone, store.ErrSerialization, store.Corrupt(machine.Digest{1}, errColumns), &store.Refusal{},
	}
}

// same reports whether an error says of an effect no more than the action's did.
func same(err, theirs error) bool {
	for _, kind := range []error{theirs, errEnded, store.ErrUnavailable, store.ErrIndeterminate, store.ErrSerialization, store.ErrCorrupt} {
		if errors.Is(err, kind) != errors.Is(theirs, kind) {
			return false
		}
	}
	return true
}

// What an action returns is told as it is, and says nothing about the action's own key: it was run once, and can be run again.
func TestAnActionReturnsTheErrorOfAnotherKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	patient := Effects{Wait: time.Minute}
	for _, theirs := range othersErrors() {
		begin, runs := newBegin(), 0
		effect, err := patient.Do(t.Context(), s.pool, invocation(begin), func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
			if runs++; runs > 1 {
				return machine.NewResponse("http/1", nil), nil
			}
			_, err := placeOrder(ctx, tx, begin.Scope.Digest)
			return machine.Response{}, errors.Join(err, theirs)
		})
		if !same(err, theirs) || runs != 1 {
			t.Errorf("%v: %+v, %v after %d runs", theirs, effect, err, runs)
		}
		if effect, err := s.order(anotherCaller(begin)); err != nil || effect.Replayed || s.orders(begin) != 1 {
			t.Errorf("%v: again: %+v, %v", theirs, effect, err)
		}
	}
}

// As above, in a transaction that is the caller's.
func TestAnActionThatJoinedReturnsTheErrorOfAnotherKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() host, isolation string) {
		for _, theirs := range othersErrors() {
			key, tx := newBegin(), begin()
			effect, err := tx.join(t.Context(), invocation(key), func(context.Context) (machine.Response, error) {
				return machine.Response{}, errors.Join(tx.exec(placing, key.Scope.Digest.String()), theirs)
			})
			if !same(err, theirs) {
				t.Errorf("%s: %v: %+v, %v", isolation, theirs, effect, err)
			}
			if err := tx.rollback(); err != nil {
				t.Error(err)
			}
			if effect, err := s.order(anotherCaller(key)); err != nil || effect.Replayed || s.orders(key) != 1 {
				t.Errorf("%s: %v: again: %+v, %v", isolation, theirs, effect, err)
			}
		}
	})
}
