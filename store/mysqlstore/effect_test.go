package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const ordersTable = "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, name varchar(64) NOT NULL) ENGINE = InnoDB"

// invocation returns what a guard would prepare for a begin.
func invocation(b machine.Begin) *store.Invocation {
	return &store.Invocation{
		Candidates: []store.Candidate{{Scope: b.Scope}}, Owner: b.Owner, Operation: b.Operation, Nonce: b.Nonce,
		Fingerprints: b.Fingerprints, Codecs: b.Codecs, Policy: b.Policy, Lease: b.Lease,
		Window: time.Hour, Remember: 24 * time.Hour, Retryable: time.Hour,
	}
}

// placeOrder is a business write.
func placeOrder(ctx context.Context, tx *sql.Tx, digest machine.Digest) (machine.Response, error) {
	_, err := tx.ExecContext(ctx, "INSERT INTO orders (name) VALUES (?)", digest.String())
	return machine.NewResponse("http/1", []byte("ordered "+digest.String())), err
}

// effects are those of a store whose clock can be moved.
var effects = Effects{clock: movable}

// shop is a database with orders.
type shop struct {
	*database
	pool *sql.DB
}

func newShop(t testing.TB) *shop {
	t.Helper()
	d := newDatabase(t)
	d.exec(ordersTable)
	return &shop{d, d.newPool(d.dsn)}
}

func (d *database) newPool(dsn string) *sql.DB {
	d.Helper()
	db, err := openDB(dsn)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { db.Close() })
	return db
}

// order places one order under a key.
func (s *shop) order(b machine.Begin) (store.Effect, error) {
	return effects.Do(s.Context(), s.pool, invocation(b), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		return placeOrder(ctx, tx, b.Scope.Digest)
	})
}

// orders counts those of a key.
func (s *shop) orders(b machine.Begin) (n int) {
	s.Helper()
	if err := s.pool.QueryRowContext(s.Context(), "SELECT count(*) FROM orders WHERE name = ?", b.Scope.Digest.String()).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// refused returns the refusal that an error must be.
func refused(t testing.TB, err error, want machine.Outcome) *store.Refusal {
	t.Helper()
	var refusal *store.Refusal
	if !errors.As(err, &refusal) || refusal.Reply.Outcome != want {
		t.Fatalf("%v, want a refusal as %v", err, want)
	}
	return refusal
}

func TestAnEffectIsDoneOnceAndReplayed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	first, err := s.order(begin)
	if err != nil || first.Replayed || first.Reply.Outcome != machine.CompletedNow || first.Scope != begin.Scope {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := s.order(anotherCaller(begin))
	if err != nil || !again.Replayed || string(again.Response.Data) != string(first.Response.Data) {
		t.Fatalf("%+v, %v", again, err)
	}
	// The store has the record that its own commands would have made.
	replay := want(t, s.open(Options{}), machine.Replay, anotherCaller(begin))
	if replay.Finished != first.Reply.Finished || replay.WindowEnd != first.Reply.WindowEnd || replay.Revision != 2 || replay.Attempt != 1 {
		t.Errorf("recorded %+v, was told %+v", replay, first.Reply)
	}
	other := anotherCaller(begin)
	other.Fingerprints = []machine.Fingerprint{{Version: 1, Sum: machine.Digest{2}}}
	_, err = s.order(other)
	refused(t, err, machine.FingerprintMismatch)
	if n := s.orders(begin); n != 1 {
		t.Errorf("%d orders", n)
	}
}

func TestAnActionThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin, why := newBegin(), errors.New("out of stock")
	for name, fail := range map[string]func(ctx context.Context, tx *sql.Tx) (machine.Response, error){
		"an error": func(ctx context.Context, tx *sql.Tx) (machine.Response, error) { return machine.Response{}, why },
		"a statement that the server refuses": func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			_, err := tx.ExecContext(ctx, "INSERT INTO nowhere VALUES (1)")
			return machine.Response{}, err
		},
		"an answer without a codec": func(context.Context, *sql.Tx) (machine.Response, error) { return machine.Response{}, nil },
		"a rollback of its own": func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			tx.Rollback()
			return machine.NewResponse("http/1", nil), nil
		},
	} {
		_, err := effects.Do(t.Context(), s.pool, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			if _, err := placeOrder(ctx, tx, begin.Scope.Digest); err != nil {
				return machine.Response{}, err
			}
			return fail(ctx, tx)
		})
		if err == nil || s.orders(begin) != 0 || name == "an error" && err != why {
			t.Errorf("%s: %v, %d orders", name, err, s.orders(begin))
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		effects.Do(t.Context(), s.pool, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			placeOrder(ctx, tx, begin.Scope.Digest)
			panic("bug")
		})
	}()
	want(t, s.open(Options{}), machine.NotFound, machine.Inspect{Scope: begin.Scope})
	if effect, err := s.order(begin); err != nil || effect.Replayed || s.orders(begin) != 1 {
		t.Errorf("afterwards: %+v, %v, %d orders", effect, err, s.orders(begin))
	}
}

// Many callers, one key: one order, and every caller has the answer or knows that it is in progress.
func TestDuplicatesOfAnEffect(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, wait := range []time.Duration{0, time.Minute} {
		begin := newBegin()
		var ran, answered, busy atomic.Int64
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				effect, err := Effects{Wait: wait, clock: movable}.Do(t.Context(), s.pool, invocation(anotherCaller(begin)), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
					ran.Add(1)
					return placeOrder(ctx, tx, begin.Scope.Digest)
				})
				var refusal *store.Refusal
				switch {
				case err == nil && string(effect.Response.Data) == "ordered "+begin.Scope.Digest.String():
					answered.Add(1)
				case errors.As(err, &refusal) && refusal.Reply.Outcome == machine.InProgress:
					busy.Add(1)
				default:
					t.Errorf("%+v, %v", effect, err)
				}
			})
		}
		group.Wait()
		if ran.Load() != 1 || s.orders(begin) != 1 || answered.Load()+busy.Load() != 50 || wait != 0 && busy.Load() != 0 {
			t.Errorf("waiting %v: ran %d times, %d orders, %d answered, %d in progress", wait, ran.Load(), s.orders(begin), answered.Load(), busy.Load())
		}
	}
}

// While two versions of the secret live there are two records that a key may have. The older one is asked
// first, and makes no new ones.
func TestAnEffectHasTwoCandidates(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := want(t, s.open(Options{}), machine.NotFound, machine.Inspect{Scope: newBegin().Scope}).At
	rotated := func(older, newer machine.Begin) *store.Invocation {
		v := invocation(newer)
		v.Candidates = []store.Candidate{{Scope: older.Scope, CreateBefore: now}, {Scope: newer.Scope, CreateFrom: now}}
		return v
	}
	do := func(older, newer machine.Begin) store.Effect {
		t.Helper()
		effect, err := effects.Do(t.Context(), s.pool, rotated(older, newer), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			return placeOrder(ctx, tx, newer.Scope.Digest)
		})
		if err != nil {
			t.Fatal(err)
		}
		return effect
	}
	known, newer := newBegin(), newBegin()
	if _, err := s.order(known); err != nil {
		t.Fatal(err)
	}
	if effect := do(known, newer); !effect.Replayed || effect.Scope != known.Scope || s.orders(newer) != 0 {
		t.Errorf("a key that is known under the older version: %+v", effect)
	}
	older := newBegin()
	if effect := do(older, newer); effect.Replayed || effect.Scope != newer.Scope || s.orders(newer) != 1 {
		t.Errorf("a new key: %+v", effect)
	}
	if effect := do(older, newer); !effect.Replayed || effect.Scope != newer.Scope || s.orders(newer) != 1 {
		t.Errorf("the same key again: %+v", effect)
	}
}

// A key that was given up is taken over by an effect.
func TestAnEffectTakesOver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	guard := s.open(Options{})
	begin := newBegin()
	reply := want(t, guard, machine.Acquired, begin)
	_, err := s.order(anotherCaller(begin))
	if refusal := refused(t, err, machine.InProgress); refusal.Reply.LeaseEnd != reply.LeaseEnd {
		t.Errorf("told the lease's end %v, it is %v", refusal.Reply.LeaseEnd, reply.LeaseEnd)
	}
	hold := completion(begin, nil).Hold
	want(t, guard, machine.Failed, machine.Fail{Hold: hold, NoEffect: true, Reason: "refused", Remember: time.Hour})
	effect, err := s.order(anotherCaller(begin))
	if err != nil || effect.Reply.Attempt != 2 || s.orders(begin) != 1 {
		t.Errorf("%+v, %v, %d orders", effect, err, s.orders(begin))
	}
	if record := want(t, guard, machine.Found, machine.Inspect{Scope: begin.Scope}).Record; record.Revision != effect.Reply.Revision {
		t.Errorf("recorded revision %d, told %d", record.Revision, effect.Reply.Revision)
	}
}
