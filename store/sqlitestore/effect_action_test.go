package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Whatever an action does wrong, nothing of it is left, and it can be called again.
func TestAnActionThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	why := errors.New("out of stock")
	s.exec("CREATE TABLE stock (item TEXT PRIMARY KEY ON CONFLICT ROLLBACK); INSERT INTO stock VALUES ('tea')")
	fails := func(err error) (machine.Response, error) { return machine.Response{}, err }
	answers := func() (machine.Response, error) { return machine.NewResponse("http/1", nil), nil }
	for name, c := range map[string]struct {
		want   error
		action func(ctx context.Context, tx *sql.Tx) (machine.Response, error)
	}{
		"an error":                  {why, func(context.Context, *sql.Tx) (machine.Response, error) { return fails(why) }},
		"an answer without a codec": {nil, func(context.Context, *sql.Tx) (machine.Response, error) { return machine.Response{}, nil }},
		"its own rollback and an error": {why, func(_ context.Context, tx *sql.Tx) (machine.Response, error) {
			return fails(errors.Join(why, tx.Rollback()))
		}},
		"its own rollback and an answer": {store.ErrUnavailable, func(_ context.Context, tx *sql.Tx) (machine.Response, error) {
			if err := tx.Rollback(); err != nil {
				return fails(err)
			}
			return answers()
		}},
		"a rollback by SQLite, and the error of that": {nil, func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			_, err := tx.ExecContext(ctx, "INSERT INTO stock VALUES ('tea')")
			return fails(err)
		}},
		"the record deleted": {store.ErrUnavailable, func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			if _, err := tx.ExecContext(ctx, "DELETE FROM reprise_record"); err != nil {
				return fails(err)
			}
			return answers()
		}},
	} {
		begin := newBegin()
		_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			if _, err := placing(begin)(ctx, tx); err != nil {
				return machine.Response{}, err
			}
			return c.action(ctx, tx)
		})
		if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, store.ErrIndeterminate) || s.orders(begin) != 0 {
			t.Errorf("%s: %v, %d orders", name, err, s.orders(begin))
		}
		s.free(begin)
	}
}

// free shows that a key is as if nobody had asked for it, and that nobody holds the file.
func (s *shop) free(key machine.Begin) {
	s.Helper()
	want(s, s.store, machine.NotFound, machine.Inspect{Scope: key.Scope})
	if effect, err := s.order(anotherCaller(key)); err != nil || effect.Replayed || s.orders(key) != 1 {
		s.Errorf("afterwards: %+v, %v, %d orders", effect, err, s.orders(key))
	}
}

func TestAnActionThatPanics(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	func() {
		defer func() {
			if recover() != "bug" {
				t.Error("a panic was swallowed")
			}
		}()
		_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			if _, err := placing(begin)(ctx, tx); err != nil {
				t.Error(err)
			}
			panic("bug")
		})
		t.Errorf("it returned: %v", err)
	}()
	s.free(begin)
}

// An action that commits by itself is told so, and is not run a second time.
func TestAnActionThatCommits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, c := range map[string]struct {
		then   machine.Outcome // for the next caller, after the lease
		commit func(ctx context.Context, tx *sql.Tx) error
	}{
		"through the transaction": {machine.RecoveryRequired, func(_ context.Context, tx *sql.Tx) error { return tx.Commit() }},
		"and reports an error": {machine.RecoveryRequired, func(_ context.Context, tx *sql.Tx) error {
			return errors.Join(tx.Commit(), errors.New("the printer is out of paper"))
		}},
		"and begins another": {machine.RecoveryRequired, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "COMMIT; BEGIN")
			return err
		}},
		"in SQL": {machine.Replay, func(ctx context.Context, tx *sql.Tx) error { // what follows commits itself
			_, err := tx.ExecContext(ctx, "COMMIT")
			return err
		}},
	} {
		begin := newBegin()
		_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			response, err := placing(begin)(ctx, tx)
			return response, errors.Join(err, c.commit(ctx, tx))
		})
		if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		s.clock.advance(begin.Lease + time.Second)
		effect, err := s.order(anotherCaller(begin))
		if c.then == machine.Replay {
			if err != nil || !effect.Replayed {
				t.Errorf("%s: %+v, %v", name, effect, err)
			}
		} else {
			refused(t, err, c.then)
		}
		if n := s.orders(begin); n != 1 {
			t.Errorf("%s: %d orders", name, n)
		}
	}
}

// What an action does after a rollback is committed by itself: nobody knows how much that is, and it is not done a second time.
func TestAnActionThatGoesOnAfterARollback(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec("CREATE TABLE stock (item TEXT PRIMARY KEY ON CONFLICT ROLLBACK); INSERT INTO stock VALUES ('tea')")
	paper := errors.New("the printer is out of paper")
	_, mismatch := s.db.ExecContext(t.Context(), "INSERT INTO orders (id, key) VALUES ('none', '')") // an error with which SQLite rolls nothing back
	if code(mismatch) != lib.SQLITE_MISMATCH {
		t.Fatal(mismatch)
	}
	_, constraint := s.db.ExecContext(t.Context(), "INSERT INTO stock VALUES ('tea')") // and one with which it may
	if code(constraint) != lib.SQLITE_CONSTRAINT {
		t.Fatal(constraint)
	}
	for name, rollback := range map[string]func(ctx context.Context, tx *sql.Tx) error{
		"in SQL": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "ROLLBACK")
			return err
		},
		"in SQL, and begins another": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "ROLLBACK; BEGIN")
			return err
		},
		"by SQLite": func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO stock VALUES ('tea')"); err == nil {
				return errors.New("the table has not rolled it back")
			}
			return nil
		},
	} {
		for _, answer := range []error{nil, paper, mismatch, constraint} {
			if answer == constraint && name == "in SQL, and begins another" {
				continue // nothing was committed, and it is told as if SQLite had rolled it back
			}
			begin := newBegin()
			_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
				if err := rollback(ctx, tx); err != nil {
					t.Error(err)
				}
				response, err := placing(begin)(ctx, tx)
				return response, errors.Join(err, answer)
			})
			if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) || errors.Is(err, store.ErrUnavailable) || answer != nil && !errors.Is(err, answer) {
				t.Errorf("%s, %v: %v", name, answer, err)
			}
			before := s.orders(begin)
			_, err = s.order(anotherCaller(begin))
			refused(t, err, machine.RecoveryRequired)
			if n := s.orders(begin); n != before || n != 1 && name != "in SQL, and begins another" {
				t.Errorf("%s, %v: %d orders, there were %d", name, answer, n, before)
			}
		}
	}
}

// An action may roll back a part of what it did.
func TestAnActionCanUseSavepoints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin, undone := newBegin(), newBegin()
	_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		for _, step := range []string{"SAVEPOINT part", "", "ROLLBACK TO part"} {
			if step == "" {
				if _, err := placing(undone)(ctx, tx); err != nil {
					t.Error(err)
				}
			} else if _, err := tx.ExecContext(ctx, step); err != nil {
				t.Error(err)
			}
		}
		return placing(begin)(ctx, tx)
	})
	if err != nil || s.orders(begin) != 1 || s.orders(undone) != 0 {
		t.Errorf("%v, %d and %d orders", err, s.orders(begin), s.orders(undone))
	}
}
