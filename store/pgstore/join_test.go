package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// host is a caller's transaction, of pgx or of database/sql.
type host struct {
	join             func(context.Context, *store.Invocation, func(context.Context) (machine.Response, error)) (store.Effect, error)
	exec             func(statement string, args ...any) error
	commit, rollback func() error
}

// hosts begin one of each kind.
var hosts = map[string]func(s *shop, isolation string) host{
	"pgx": func(s *shop, isolation string) host {
		tx, err := s.pool.BeginTx(s.Context(), pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(isolation)})
		if err != nil {
			s.Fatal(err)
		}
		return host{
			func(ctx context.Context, v *store.Invocation, action func(context.Context) (machine.Response, error)) (store.Effect, error) {
				return Join(ctx, tx, v, action)
			},
			func(statement string, args ...any) error {
				_, err := tx.Exec(s.Context(), statement, args...)
				return err
			},
			func() error { return tx.Commit(s.Context()) }, func() error { return tx.Rollback(s.Context()) },
		}
	},
	"database/sql": func(s *shop, isolation string) host {
		db := stdlib.OpenDBFromPool(s.pool)
		s.Cleanup(func() { db.Close() })
		levels := map[string]sql.IsolationLevel{
			"read committed": sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
		}
		tx, err := db.BeginTx(s.Context(), &sql.TxOptions{Isolation: levels[isolation]})
		if err != nil {
			s.Fatal(err)
		}
		return host{
			func(ctx context.Context, v *store.Invocation, action func(context.Context) (machine.Response, error)) (store.Effect, error) {
				return JoinSQL(ctx, tx, v, action)
			},
			func(statement string, args ...any) error {
				_, err := tx.ExecContext(s.Context(), statement, args...)
				return err
			},
			tx.Commit, tx.Rollback,
		}
	},
}

const placing = "INSERT INTO orders (key) VALUES ($1)"

// each runs a test in transactions of each kind and isolation.
func each(t *testing.T, test func(t *testing.T, s *shop, begin func() host, isolation string)) {
	s := newShop(t)
	for name, open := range hosts {
		for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
			t.Run(name+" "+isolation, func(t *testing.T) {
				test(t, s, func() host {
					h := open(s, isolation)
					t.Cleanup(func() { h.rollback() })
					return h
				}, isolation)
			})
		}
	}
}

func TestJoining(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() host, _ string) {
		key, answer := newBegin(), machine.NewResponse("http/1", []byte("ordered"))
		place := func(h host) (store.Effect, error) {
			return h.join(t.Context(), invocation(anotherCaller(key)), func(context.Context) (machine.Response, error) {
				return answer, h.exec(placing, key.Scope.Digest.String())
			})
		}
		// Rolled back, it leaves nothing.
		undone := begin()
		if effect, err := place(undone); err != nil || effect.Replayed {
			t.Fatalf("%+v, %v", effect, err)
		}
		// While it is open, the key is in progress, and whoever is told so can go on.
		waiting := begin()
		_, err := place(waiting)
		refused(t, err, machine.InProgress)
		if err := waiting.exec("SELECT 1"); err != nil {
			t.Errorf("after a refusal: %v", err)
		}
		if err := errors.Join(undone.rollback(), waiting.rollback()); err != nil || s.orders(key) != 0 {
			t.Fatalf("%v, %d orders", err, s.orders(key))
		}
		// Committed, it is there, and a second transaction gets the answer.
		first := begin()
		effect, err := place(first)
		if err != nil || effect.Replayed || effect.Reply.Outcome != machine.CompletedNow {
			t.Fatalf("%+v, %v", effect, err)
		}
		if err := first.commit(); err != nil {
			t.Fatal(err)
		}
		second := begin()
		if effect, err := place(second); err != nil || !effect.Replayed || string(effect.Response.Data) != "ordered" {
			t.Errorf("%+v, %v", effect, err)
		}
		if err := second.commit(); err != nil || s.orders(key) != 1 {
			t.Errorf("%v, %d orders", err, s.orders(key))
		}
	})
}

// Because a unique violation inside of the caller's transaction loses its other work (case O26): what
// another transaction did since this one began never ends it without an error that says what to do, and
// never leads to a second effect.
func TestJoiningAfterAnotherTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() host, isolation string) {
		guard := s.open(Options{MaxConns: 4})
		for name, meanwhile := range map[string]func(key machine.Begin){
			"answered": func(key machine.Begin) {
				if _, err := s.order(key); err != nil {
					t.Fatal(err)
				}
			},
			"begun": func(key machine.Begin) { want(t, guard, machine.Acquired, key) },
			"begun and failed": func(key machine.Begin) {
				want(t, guard, machine.Acquired, key)
				want(t, guard, machine.Failed, machine.Fail{Hold: completion(key, nil).Hold, NoEffect: true, Reason: "no", Remember: time.Hour})
			},
		} {
			key := newBegin()
			h := begin()
			if err := h.exec("SELECT count(*) FROM orders"); err != nil { // takes the snapshot
				t.Fatal(err)
			}
			meanwhile(key)
			before := s.orders(key)
			effect, err := h.join(t.Context(), invocation(anotherCaller(key)), func(context.Context) (machine.Response, error) {
				return machine.NewResponse("http/1", nil), h.exec(placing, key.Scope.Digest.String())
			})
			var refusal *store.Refusal
			switch {
			case errors.Is(err, store.ErrSerialization) && isolation != "read committed":
				if s.orders(key) != before {
					t.Errorf("%s: it can be seen before it is committed", name)
				}
				continue
			case isolation != "read committed":
				t.Errorf("%s: %+v, %v, want a conflict", name, effect, err)
			case name == "answered" && (err != nil || !effect.Replayed),
				name == "begun" && !errors.As(err, &refusal),
				name == "begun and failed" && (err != nil || effect.Reply.Attempt != 2):
				t.Errorf("%s: %+v, %v", name, effect, err)
			}
			if err := h.exec("SELECT 1"); err != nil {
				t.Errorf("%s: the transaction cannot go on: %v", name, err)
			}
			if err := h.commit(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// An action that fails leaves the key as it was, even if its caller commits what else it did.
func TestJoiningAnActionThatFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() host, _ string) {
		guard := s.open(Options{MaxConns: 4})
		key, failed, why := newBegin(), newBegin(), errors.New("out of stock")
		want(t, guard, machine.Acquired, failed)
		was := want(t, guard, machine.Failed, machine.Fail{Hold: completion(failed, nil).Hold, NoEffect: true, Reason: "no", Remember: time.Hour})
		h := begin()
		for _, b := range []machine.Begin{key, failed} {
			_, err := h.join(t.Context(), invocation(anotherCaller(b)), func(context.Context) (machine.Response, error) { return machine.Response{}, why })
			if !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
		}
		if err := h.commit(); err != nil {
			t.Fatal(err)
		}
		want(t, guard, machine.NotFound, machine.Inspect{Scope: key.Scope})
		is := want(t, guard, machine.Found, machine.Inspect{Scope: failed.Scope})
		if is.Record.State != machine.Retryable || is.Record.Revision != was.Revision {
			t.Errorf("a key that could be tried again is %v at revision %d, was at %d", is.Record.State, is.Record.Revision, was.Revision)
		}
	})
}
