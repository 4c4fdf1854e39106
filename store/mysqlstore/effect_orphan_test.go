package mysqlstore

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

var errPaper = errors.New("the printer is out of paper")

// keysToTry are makers of a new key, and of one that has a row already.
func keysToTry(t *testing.T, s *shop) map[string]func() machine.Begin {
	guard := s.open(Options{})
	return map[string]func() machine.Begin{
		"a new key": newBegin,
		"a key that failed": func() machine.Begin {
			begin := newBegin()
			want(t, guard, machine.Acquired, begin)
			want(t, guard, machine.Failed, machine.Fail{Hold: completion(begin, nil).Hold, NoEffect: true, Reason: "refused", Remember: time.Hour})
			return anotherCaller(begin)
		},
	}
}

// unseen reports whether the server does not tell at the end that an action has ended the transaction by a commit. The answer is recorded then,
// after what was done.
func (s *shop) unseen(end string) bool {
	s.Helper()
	var version string
	if err := s.db.QueryRowContext(s.Context(), "SELECT VERSION()").Scan(&version); err != nil {
		s.Fatal(err)
	}
	return end == "COMMIT; BEGIN" || !isMariaDB(version) && (end == "COMMIT" || strings.HasPrefix(end, "TRUNCATE"))
}

// notAgain checks that a key is not run again by itself.
func (s *shop) notAgain(begin machine.Begin, what ...any) {
	s.Helper()
	before := s.orders(begin)
	_, err := s.order(anotherCaller(begin))
	var refusal *store.Refusal
	if !errors.As(err, &refusal) || refusal.Reply.Outcome != machine.InProgress && refusal.Reply.Outcome != machine.RecoveryRequired {
		s.Errorf("%v: again: %v", what, err)
	}
	if n := s.orders(begin); n != before {
		s.Errorf("%v: %d orders, there were %d", what, n, before)
	}
}

// Because an action that ends the transaction has no answer that is recorded with it: nobody knows, and says so.
func TestAnActionThatEndsTheTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec("CREATE TABLE more (id int) ENGINE = InnoDB")
	for given, key := range keysToTry(t, s) {
		for _, end := range []string{"COMMIT", "TRUNCATE TABLE more", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN", "commit by its own hand"} {
			for _, answer := range []error{nil, errPaper} {
				begin := key()
				_, err := effects.Do(t.Context(), s.pool, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
					response, err := placeOrder(ctx, tx, begin.Scope.Digest)
					if end == "commit by its own hand" {
						return response, errors.Join(err, tx.Commit(), answer)
					}
					for statement := range strings.SplitSeq(end, "; ") {
						_, failed := tx.ExecContext(ctx, statement)
						err = errors.Join(err, failed)
					}
					return response, errors.Join(err, answer)
				})
				if answer == nil && s.unseen(end) {
					if effect, again := s.order(anotherCaller(begin)); err != nil || again != nil || !effect.Replayed || s.orders(begin) != 1 {
						t.Errorf("%s: %v; again: %+v, %v", given, err, effect, again)
					}
					continue
				}
				if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) || answer != nil && !errors.Is(err, answer) || errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s, %s, %v: %v", given, end, answer, err)
				}
				s.notAgain(begin, given, end, answer)
			}
		}
	}
}

// As above, in a transaction that is the caller's. One that is rolled back leaves no row to say so.
func TestAnActionThatEndsTheTransactionThatItJoined(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() *sql.Tx) {
		for given, newKey := range keysToTry(t, s) {
			for _, end := range []string{"COMMIT", "ROLLBACK", "commit by its own hand"} {
				for _, answer := range []error{nil, errPaper} {
					tx, key := begin(), newKey()
					effect, err := effects.Join(t.Context(), tx, invocation(key), func(ctx context.Context) (machine.Response, error) {
						response, err := placeOrder(ctx, tx, key.Scope.Digest)
						if end == "commit by its own hand" {
							return response, errors.Join(err, tx.Commit(), answer)
						}
						_, ended := tx.ExecContext(ctx, end)
						return response, errors.Join(err, ended, answer)
					})
					_ = tx.Commit()
					if answer == nil && s.unseen(end) {
						if again, failed := s.order(anotherCaller(key)); err != nil || failed != nil || !again.Replayed || s.orders(key) != 1 {
							t.Errorf("%s, %s: %v; again: %+v, %v", given, end, err, again, failed)
						}
						continue
					}
					if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) || answer != nil && !errors.Is(err, answer) || errors.Is(err, store.ErrUnavailable) {
						t.Errorf("%s, %s, %v: %+v, %v", given, end, answer, effect, err)
					}
					if end != "ROLLBACK" {
						s.notAgain(key, given, end, answer)
					}
				}
			}
		}
	})
}

// beVictim makes a transaction wait for another one that waits for it, and returns the error with which the server rolls it back: it has
// changed less.
func (s *shop) beVictim(ctx context.Context, tx *sql.Tx) error {
	s.Helper()
	other, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		s.Fatal(err)
	}
	exec := func(tx *sql.Tx, statement string, args ...any) {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			s.Errorf("%s: %v", statement, err)
		}
	}
	exec(other, "INSERT INTO more WITH RECURSIVE n AS (SELECT 1001 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 1500) SELECT id FROM n")
	exec(other, "UPDATE more SET id = 20 WHERE id = 2")
	exec(tx, "UPDATE more SET id = 10 WHERE id = 1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		exec(other, "UPDATE more SET id = 11 WHERE id = 1")
		_ = other.Rollback()
	}()
	_, err = tx.ExecContext(ctx, "UPDATE more SET id = 21 WHERE id = ?", 2)
	<-done
	if number(err) != deadlock {
		s.Errorf("no deadlock: %v", err)
	}
	return err
}

// A server that rolls back for a deadlock lets the session go on in no transaction: what an action then does is committed. One that returns
// has done nothing.
func TestAnActionThatIsADeadlocksVictim(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec("CREATE TABLE more (id int PRIMARY KEY) ENGINE = InnoDB")
	s.exec("INSERT INTO more VALUES (1), (2)")
	for given, key := range keysToTry(t, s) {
		for name, next := range map[string]func(ctx context.Context, tx *sql.Tx, begin machine.Begin, victim error) (machine.Response, error){
			"returns": func(_ context.Context, _ *sql.Tx, _ machine.Begin, victim error) (machine.Response, error) {
				return machine.Response{}, victim
			},
			"goes on": func(ctx context.Context, tx *sql.Tx, begin machine.Begin, _ error) (machine.Response, error) {
				return placeOrder(ctx, tx, begin.Scope.Digest)
			},
			"goes on, and returns an error": func(ctx context.Context, tx *sql.Tx, begin machine.Begin, _ error) (machine.Response, error) {
				_, err := placeOrder(ctx, tx, begin.Scope.Digest)
				return machine.Response{}, errors.Join(err, errPaper)
			},
			"goes on, and returns the server's error": func(ctx context.Context, tx *sql.Tx, begin machine.Begin, victim error) (machine.Response, error) {
				_, err := placeOrder(ctx, tx, begin.Scope.Digest)
				return machine.Response{}, errors.Join(err, victim)
			},
		} {
			done, joined := key(), key()
			_, err := effects.Do(t.Context(), s.pool, invocation(done), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
				return next(ctx, tx, done, s.beVictim(ctx, tx))
			})
			if name == "returns" {
				if number(err) != deadlock || errors.Is(err, store.ErrIndeterminate) {
					t.Errorf("%s, %s: %v", given, name, err)
				}
				if effect, err := s.order(anotherCaller(done)); err != nil || effect.Replayed || s.orders(done) != 1 {
					t.Errorf("%s, %s: again: %+v, %v", given, name, effect, err)
				}
			} else {
				if !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, errEnded) {
					t.Errorf("%s, %s: %v", given, name, err)
				}
				_, err = s.order(anotherCaller(done))
				refused(t, err, machine.RecoveryRequired)
				if n := s.orders(done); n != 1 {
					t.Errorf("%s, %s: %d orders", given, name, n)
				}
			}
			tx, err := s.pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = effects.Join(t.Context(), tx, invocation(joined), func(ctx context.Context) (machine.Response, error) {
				return next(ctx, tx, joined, s.beVictim(ctx, tx))
			})
			if err == nil || errors.Is(err, store.ErrIndeterminate) == (name == "returns") || errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s, %s, joined: %v", given, name, err)
			}
			_ = tx.Rollback()
		}
	}
}
