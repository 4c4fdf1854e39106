package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What an action has done that ends its transaction may be committed, and nobody knows: its key is unknown, and the action is not run
// again by itself, until somebody settles it.
func TestAnActionThatEndsItsTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	handle := s.open(Options{})
	paper := errors.New("the printer is out of paper")
	for name, c := range map[string]struct {
		end    string
		answer error
		orders int // that were placed
	}{
		"commits":                              {"COMMIT", nil, 1},
		"commits, and returns an error":        {"COMMIT", paper, 1},
		"commits, and begins another":          {"COMMIT; BEGIN", nil, 1},
		"begins another, and returns an error": {"COMMIT; BEGIN", paper, 1},
		"chains another":                       {"COMMIT AND CHAIN", nil, 1},
		"rolls back":                           {"ROLLBACK", nil, 0},
	} {
		for _, given := range []func(begin machine.Begin){
			func(machine.Begin) {},
			func(begin machine.Begin) { // a key that has a row already
				want(t, handle, machine.Acquired, begin)
				want(t, handle, machine.Failed, machine.Fail{Hold: completion(begin, nil).Hold, NoEffect: true, Reason: "refused", Remember: time.Hour})
			},
		} {
			begin := newBegin()
			given(begin)
			_, err := Do(t.Context(), s.pool, invocation(begin), func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
				response, err := placeOrder(ctx, tx, begin.Scope.Digest)
				_, ended := tx.Conn().PgConn().Exec(ctx, c.end).ReadAll()
				return response, errors.Join(err, ended, c.answer)
			})
			if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) || c.answer != nil && !errors.Is(err, c.answer) || errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			for range 2 {
				_, err = s.order(anotherCaller(begin))
				refused(t, err, machine.RecoveryRequired)
			}
			if n := s.orders(begin); n != c.orders {
				t.Errorf("%s: %d orders", name, n)
			}
			found := want(t, handle, machine.Found, machine.Inspect{Scope: begin.Scope})
			if found.Reason != errEnded.Error() {
				t.Errorf("%s: %+v", name, found)
			}
		}
	}
}

// A caller's transaction that the action has ended is the caller's no more: nothing of it is recorded in what comes after it, and nobody
// says that it was undone.
func TestAnActionThatEndsTheTransactionThatItJoined(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	handle := s.open(Options{})
	paper := errors.New("the printer is out of paper")
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable} {
		for _, end := range []string{"COMMIT", "COMMIT; BEGIN", "ROLLBACK"} {
			for _, answer := range []error{nil, paper} {
				begin := newBegin()
				want(t, handle, machine.Acquired, begin)
				want(t, handle, machine.Failed, machine.Fail{Hold: completion(begin, nil).Hold, NoEffect: true, Reason: "refused", Remember: time.Hour})
				tx, err := s.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
				if err != nil {
					t.Fatal(err)
				}
				effect, err := Join(t.Context(), tx, invocation(anotherCaller(begin)), func(ctx context.Context) (machine.Response, error) {
					response, err := placeOrder(ctx, tx, begin.Scope.Digest)
					_, ended := tx.Conn().PgConn().Exec(ctx, end).ReadAll()
					return response, errors.Join(err, ended, answer)
				})
				if !errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrSerialization) || !errors.Is(err, answer) && answer != nil {
					t.Errorf("%s, %s, %v: %+v, %v", isolation, end, answer, effect, err)
				}
				_ = tx.Rollback(t.Context())
				if found := want(t, handle, machine.Found, machine.Inspect{Scope: begin.Scope}).Record; found.State == machine.Completed {
					t.Errorf("%s, %s, %v: recorded as %v", isolation, end, answer, found.State)
				}
			}
		}
	}
}

// An action that ends its transaction lets others at its key: what they have done since stands.
func TestAnOrphanWhoseKeyWasTaken(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	_, err := Do(t.Context(), s.pool, invocation(begin), func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
		if _, err := tx.Exec(ctx, "ROLLBACK"); err != nil {
			t.Error(err)
		}
		_, err := s.order(anotherCaller(begin))
		return machine.Response{}, err
	})
	if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) {
		t.Error(err)
	}
	if effect, err := s.order(anotherCaller(begin)); err != nil || !effect.Replayed || s.orders(begin) != 1 {
		t.Errorf("%+v, %v", effect, err)
	}
}
