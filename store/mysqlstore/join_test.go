package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const placing = "INSERT INTO orders (name) VALUES (?)"

// isolations are those that a caller's transaction may have.
var isolations = map[string]sql.IsolationLevel{
	"read committed": sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
}

// each runs a test in transactions of each isolation.
func each(t *testing.T, test func(t *testing.T, s *shop, begin func() *sql.Tx)) {
	s := newShop(t)
	for name, isolation := range isolations {
		t.Run(name, func(t *testing.T) {
			test(t, s, func() *sql.Tx {
				tx, err := s.pool.BeginTx(t.Context(), &sql.TxOptions{Isolation: isolation})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = tx.Rollback() })
				return tx
			})
		})
	}
}

// place places an order in a transaction.
func place(tx *sql.Tx, key machine.Begin) (store.Effect, error) {
	ctx := context.Background()
	return effects.Join(ctx, tx, invocation(anotherCaller(key)), func(ctx context.Context) (machine.Response, error) {
		_, err := tx.ExecContext(ctx, placing, key.Scope.Digest.String())
		return machine.NewResponse("http/1", []byte("ordered")), err
	})
}

func TestJoining(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() *sql.Tx) {
		key := newBegin()
		// Rolled back, it leaves nothing.
		undone := begin()
		if effect, err := place(undone, key); err != nil || effect.Replayed {
			t.Fatalf("%+v, %v", effect, err)
		}
		// While it is open, the key is in progress, and whoever is told so can go on.
		waiting := begin()
		_, err := place(waiting, key)
		refused(t, err, machine.InProgress)
		if _, err := waiting.Exec("DO 1"); err != nil {
			t.Errorf("after a refusal: %v", err)
		}
		want(t, s.open(Options{MaxConns: 4}), machine.InProgress, anotherCaller(key))
		if _, err := waiting.Exec(placing, "another thing"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(undone.Rollback(), waiting.Commit()); err != nil || s.orders(key) != 0 {
			t.Fatalf("%v, %d orders", err, s.orders(key))
		}
		// Committed, it is there, and a second transaction gets the answer.
		first := begin()
		effect, err := place(first, key)
		if err != nil || effect.Replayed || effect.Reply.Outcome != machine.CompletedNow {
			t.Fatalf("%+v, %v", effect, err)
		}
		if err := first.Commit(); err != nil {
			t.Fatal(err)
		}
		second := begin()
		if effect, err := place(second, key); err != nil || !effect.Replayed || string(effect.Response.Data) != "ordered" {
			t.Errorf("%+v, %v", effect, err)
		}
		if err := second.Commit(); err != nil || s.orders(key) != 1 {
			t.Errorf("%v, %d orders", err, s.orders(key))
		}
	})
}

// What another transaction did since this one began never leads to a second effect, whatever this one sees of
// it.
func TestJoiningAfterAnotherTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() *sql.Tx) {
		guard := s.open(Options{MaxConns: 4})
		for name, meanwhile := range map[string]func(key machine.Begin){
			"answered": func(key machine.Begin) {
				want(t, guard, machine.Acquired, key)
				want(t, guard, machine.CompletedNow, completion(key, []byte("by another")))
			},
			"begun": func(key machine.Begin) { want(t, guard, machine.Acquired, key) },
			"begun and failed": func(key machine.Begin) {
				want(t, guard, machine.Acquired, key)
				want(t, guard, machine.Failed, machine.Fail{Hold: completion(key, nil).Hold, NoEffect: true, Reason: "no", Remember: time.Hour})
			},
		} {
			key, tx := newBegin(), begin()
			var n int
			if err := tx.QueryRow("SELECT count(*) FROM orders").Scan(&n); err != nil { // takes the snapshot
				t.Fatal(err)
			}
			meanwhile(key)
			effect, err := place(tx, key)
			var refusal *store.Refusal
			switch {
			case errors.Is(err, store.ErrSerialization): // all of it again
				if err := tx.Rollback(); err != nil {
					t.Error(err)
				}
				continue
			case name == "answered" && (err != nil || !effect.Replayed || string(effect.Response.Data) != "by another"),
				name == "begun" && !errors.As(err, &refusal),
				name == "begun and failed" && (err != nil || effect.Reply.Attempt != 2):
				t.Errorf("%s: %+v, %v", name, effect, err)
			}
			if err := tx.Commit(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if name == "begun and failed" {
				want(t, guard, machine.Replay, anotherCaller(key))
			}
		}
	})
}

// An action that fails leaves the key as it was, even if its caller commits what else it did; and so does a
// refusal that comes after a key was made.
func TestJoiningAnActionThatFails(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() *sql.Tx) {
		guard, why := s.open(Options{MaxConns: 4}), errors.New("out of stock")
		fresh, failed := newBegin(), newBegin()
		want(t, guard, machine.Acquired, failed)
		want(t, guard, machine.Failed, machine.Fail{Hold: completion(failed, nil).Hold, NoEffect: true, Reason: "no", Remember: time.Hour})
		for _, key := range []machine.Begin{fresh, failed} {
			before := apply(t, guard, machine.Inspect{Scope: key.Scope}).Record
			tx := begin()
			_, err := effects.Join(t.Context(), tx, invocation(anotherCaller(key)), func(context.Context) (machine.Response, error) { return machine.Response{}, why })
			if !errors.Is(err, why) {
				t.Errorf("%v", err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			after := apply(t, guard, machine.Inspect{Scope: key.Scope}).Record
			if (before == nil) != (after == nil) || before != nil && before.Revision != after.Revision {
				t.Errorf("the record was %+v and is %+v", before, after)
			}
		}
	})
}

// Because an open transaction with gap locks would hold up keys that it has nothing to do with: others are made
// on both sides of a key that is held.
func TestAJoinedTransactionLocksItsKeyAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() *sql.Tx) {
		guard, key, tx := s.open(Options{MaxConns: 4}), newBegin(), begin()
		if _, err := place(tx, key); err != nil {
			t.Fatal(err)
		}
		for _, step := range []int{-1, 1} {
			other := newBegin()
			other.Scope.Digest = key.Scope.Digest
			other.Scope.Digest[31] = byte(int(other.Scope.Digest[31]) + step)
			want(t, guard, machine.Acquired, other)
			want(t, guard, machine.CompletedNow, completion(other, nil))
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
}

// A server that refuses what changed after a snapshot asks for all of the transaction again.
func TestASnapshotThatIsTooOld(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, Settings: map[string]string{"innodb-snapshot-isolation": "ON"}})
	d := prepare(t, server.Database(t))
	d.exec(ordersTable)
	s := &shop{d, d.newPool(d.dsn)}
	key := newBegin()
	tx, err := s.pool.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := s.order(key); err != nil {
		t.Fatal(err)
	}
	if effect, err := place(tx, key); !errors.Is(err, store.ErrSerialization) {
		t.Errorf("%+v, %v", effect, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// A server that ends a transaction which did not get a lock leaves nobody to go on in none.
func TestAServerThatRollsBackWhoWaits(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, Settings: map[string]string{"innodb-rollback-on-timeout": "ON"}})
	d := prepare(t, server.Database(t))
	d.exec(ordersTable)
	s := &shop{d, d.newPool(d.dsn)}
	busy := s.openEffect()
	defer busy.release()
	tx, err := s.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(placing, "mine"); err != nil {
		t.Fatal(err)
	}
	if effect, err := place(tx, busy.key); !errors.Is(err, store.ErrSerialization) {
		t.Errorf("%+v, %v", effect, err)
	}
	_ = tx.Rollback()
	busy.end(t)
}

// Whatever the session of a caller is set to, times and bytes are those of the store.
func TestJoiningInAStrangeSession(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	guard := s.open(Options{MaxConns: 4})
	for i, setting := range []string{
		"unique_checks = 0, foreign_key_checks = 0", "sql_safe_updates = 1, sql_select_limit = 1, max_error_count = 0",
		"time_zone = '+05:30'", "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'", "sql_mode = ''", "NAMES utf8mb4 COLLATE utf8mb4_general_ci", "innodb_lock_wait_timeout = 50",
	} {
		key := newBegin()
		conn, err := s.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), "SET "+setting); err != nil {
			t.Fatal(err)
		}
		tx, err := conn.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := []byte(fmt.Sprintf("%d \x00\x27\\", i))
		effect, err := effects.Join(t.Context(), tx, invocation(key), func(context.Context) (machine.Response, error) {
			want(t, guard, machine.Acquired, newBegin()) // another key is not held
			want(t, guard, machine.InProgress, anotherCaller(key))
			return machine.NewResponse("http/1", answer), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		reply := want(t, guard, machine.Replay, anotherCaller(key))
		if string(reply.Response.Data) != string(answer) || reply.Finished != effect.Reply.Finished || reply.At.Sub(reply.Finished) > time.Minute || reply.At < reply.Finished {
			t.Errorf("%s: told %+v, recorded %+v", setting, effect.Reply, reply)
		}
	}
}
