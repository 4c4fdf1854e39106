package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// begin begins a transaction that is rolled back at the end of the test, if it is still open.
func (s *shop) begin(db *sql.DB) *sql.Tx {
	s.Helper()
	tx, err := db.BeginTx(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { tx.Rollback() })
	return tx
}

// join places an order in a transaction that the program has begun.
func (s *shop) join(tx *sql.Tx, b machine.Begin) (store.Effect, error) {
	return s.effects().JoinSQL(s.Context(), tx, invocation(b), joining(tx, b))
}

func TestJoining(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, db := range map[string]*sql.DB{"deferred": s.db, "immediate": s.pool("_txlock=immediate"), "patient": s.pool("_pragma=busy_timeout(1000)")} {
		key := newBegin()
		// Rolled back, it leaves nothing.
		undone := s.begin(db)
		if effect, err := s.join(undone, key); err != nil || effect.Replayed || effect.Reply.Outcome != machine.CompletedNow {
			t.Fatalf("%s: %+v, %v", name, effect, err)
		}
		// While it is open, nobody sees anything of it.
		if n := s.orders(key); n != 0 {
			t.Errorf("%s: %d orders", name, n)
		}
		want(t, s.store, machine.NotFound, machine.Inspect{Scope: key.Scope})
		if err := undone.Rollback(); err != nil {
			t.Fatal(err)
		}
		// Committed, it is there, and a second transaction gets the answer.
		first := s.begin(db)
		effect, err := s.join(first, anotherCaller(key))
		if err != nil || effect.Replayed {
			t.Fatalf("%s: %+v, %v", name, effect, err)
		}
		if err := first.Commit(); err != nil {
			t.Fatal(err)
		}
		second := s.begin(db)
		again, err := s.join(second, anotherCaller(key))
		if err != nil || !again.Replayed || string(again.Response.Data) != string(effect.Response.Data) {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
		other := anotherCaller(key)
		other.Fingerprints = []machine.Fingerprint{{Version: 1, Sum: machine.Digest{2}}}
		_, err = s.join(second, other)
		refused(t, err, machine.FingerprintMismatch)
		// After that it can go on.
		more := newBegin()
		if _, err := s.join(second, more); err != nil {
			t.Error(err)
		}
		if err := second.Commit(); err != nil || s.orders(key) != 1 || s.orders(more) != 1 {
			t.Errorf("%s: %v, %d and %d orders", name, err, s.orders(key), s.orders(more))
		}
		want(t, s.store, machine.Replay, anotherCaller(key))
	}
}

// What another connection did since a transaction has read never ends it without an error that says what to
// do, and never leads to a second effect.
func TestJoiningAfterReading(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, meanwhile := range map[string]func(key machine.Begin){
		"answered": func(key machine.Begin) {
			if _, err := s.order(key); err != nil {
				t.Fatal(err)
			}
		},
		"begun":         func(key machine.Begin) { want(t, s.store, machine.Acquired, key) },
		"another key's": func(machine.Begin) { want(t, s.store, machine.Acquired, newBegin()) },
	} {
		key := newBegin()
		stale := s.begin(s.db)
		var n int
		if err := stale.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil {
			t.Fatal(err)
		}
		meanwhile(key)
		before := s.orders(key)
		_, err := s.join(stale, anotherCaller(key))
		if !errors.Is(err, store.ErrSerialization) || !strings.Contains(err.Error(), "BEGIN IMMEDIATE") {
			t.Errorf("%s: %v", name, err)
		}
		if err := stale.Rollback(); err != nil || s.orders(key) != before {
			t.Errorf("%s: %v, %d orders", name, err, s.orders(key))
		}
	}
	// Where nobody has written, it may have read.
	key, tx := newBegin(), s.begin(s.db)
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := s.join(tx, key); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil || s.orders(key) != 1 {
		t.Errorf("%v, %d orders", err, s.orders(key))
	}
}

// While somebody else writes, a transaction waits as long as it is ready to, and can go on then.
func TestJoiningWhileAnotherWrites(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	db := s.pool("_pragma=busy_timeout(1234)")
	release := s.hold(newBegin())
	key, tx := newBegin(), s.begin(db)
	effects := s.effects()
	effects.BusyTimeout = time.Millisecond
	_, err := effects.JoinSQL(t.Context(), tx, invocation(key), joining(tx, key))
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "wait longer") {
		t.Errorf("%v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.join(tx, anotherCaller(key)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	var ms int
	if err := tx.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&ms); err != nil || ms != 1234 {
		t.Errorf("the connection waits %d ms now, %v", ms, err)
	}
	if err := tx.Commit(); err != nil || s.orders(key) != 1 {
		t.Errorf("%v, %d orders", err, s.orders(key))
	}
}

// An action that fails leaves the key and all that it wrote as they were, even if its caller commits what
// else it did.
func TestJoiningAnActionThatFails(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	why := errors.New("out of stock")
	for name, action := range map[string]func(ctx context.Context) (machine.Response, error){
		"an error":                  func(context.Context) (machine.Response, error) { return machine.Response{}, why },
		"an answer without a codec": func(context.Context) (machine.Response, error) { return machine.Response{}, nil },
		"too slow": func(ctx context.Context) (machine.Response, error) {
			<-ctx.Done()
			return machine.Response{}, context.Cause(ctx)
		},
		"a panic": func(context.Context) (machine.Response, error) { panic("bug") },
	} {
		key, kept, tx := newBegin(), newBegin(), s.begin(s.db)
		if _, err := placing(kept)(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if p := recover(); (p != nil) != (name == "a panic") {
					t.Errorf("%s: %v", name, p)
				}
			}()
			effects := s.effects()
			effects.Limit = 10 * time.Millisecond
			_, err := effects.JoinSQL(t.Context(), tx, invocation(key), func(ctx context.Context) (machine.Response, error) {
				if _, err := joining(tx, key)(context.WithoutCancel(ctx)); err != nil {
					return machine.Response{}, err
				}
				return action(ctx)
			})
			if err == nil || name == "an error" && err != why || name == "too slow" && (!errors.Is(err, errLimit) || !strings.Contains(err.Error(), "raise Effects.Limit")) || errors.Is(err, store.ErrIndeterminate) {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if err := tx.Commit(); err != nil || s.orders(kept) != 1 || s.orders(key) != 0 {
			t.Errorf("%s: %v, %d orders kept, %d of the action", name, err, s.orders(kept), s.orders(key))
		}
		s.free(key)
	}
}

// An action that ends the transaction of its caller is told so, and is not run again if it has committed.
func TestJoiningAnActionThatEndsTheTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, commit := range []bool{false, true} {
		key, tx := newBegin(), s.begin(s.db)
		_, err := s.effects().JoinSQL(t.Context(), tx, invocation(key), func(ctx context.Context) (machine.Response, error) {
			response, err := joining(tx, key)(ctx)
			if commit {
				return response, errors.Join(err, tx.Commit())
			}
			return response, errors.Join(err, tx.Rollback())
		})
		if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) {
			t.Errorf("%v", err)
		}
		if !commit {
			s.free(key)
			continue
		}
		_, err = s.order(anotherCaller(key))
		refused(t, err, machine.InProgress)
		s.clock.advance(key.Lease + time.Second)
		_, err = s.order(anotherCaller(key))
		refused(t, err, machine.RecoveryRequired)
	}
}

// That its context has ended too does not make what it has committed undone.
func TestJoiningAnActionThatCommitsAndWhoseContextEnds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, commit := range []func(tx *sql.Tx) error{
		(*sql.Tx).Commit,
		func(tx *sql.Tx) error { _, err := tx.Exec("COMMIT"); return err },
	} {
		for _, answer := range []error{nil, errors.New("the printer is out of paper")} {
			key, tx := newBegin(), s.begin(s.db)
			ctx, cancel := context.WithCancel(t.Context())
			_, err := s.effects().JoinSQL(ctx, tx, invocation(key), func(ctx context.Context) (machine.Response, error) {
				response, err := joining(tx, key)(ctx)
				err = errors.Join(err, commit(tx))
				cancel()
				return response, errors.Join(err, answer)
			})
			if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) || errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v: %v", answer, err)
			}
			_ = tx.Rollback()
			_, err = s.order(anotherCaller(key))
			refused(t, err, machine.InProgress)
			if n := s.orders(key); n != 1 {
				t.Errorf("%v: %d orders", answer, n)
			}
		}
	}
}

// One transaction may have several keys, one inside of the other too, but a key only once.
func TestJoiningInsideOfAnEffect(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	outer, inner, failing := newBegin(), newBegin(), newBegin()
	_, err := s.effects().Do(t.Context(), s.db, invocation(outer), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		_, err := s.join(tx, anotherCaller(outer))
		refused(t, err, machine.InProgress)
		if _, err := s.join(tx, inner); err != nil {
			t.Error(err)
		}
		why := errors.New("out of stock")
		_, err = s.effects().JoinSQL(ctx, tx, invocation(failing), func(ctx context.Context) (machine.Response, error) {
			_, err := joining(tx, failing)(ctx)
			return machine.Response{}, errors.Join(err, why)
		})
		if !errors.Is(err, why) {
			t.Error(err)
		}
		return placing(outer)(ctx, tx)
	})
	if err != nil || s.orders(outer) != 1 || s.orders(inner) != 1 || s.orders(failing) != 0 {
		t.Errorf("%v, %d, %d and %d orders", err, s.orders(outer), s.orders(inner), s.orders(failing))
	}
	want(t, s.store, machine.Replay, anotherCaller(outer))
	want(t, s.store, machine.Replay, anotherCaller(inner))
	s.free(failing)
}
