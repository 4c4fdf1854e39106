package sqlitestore

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestAnEffectIsDoneOnceAndReplayed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, effects := range map[string]Effects{"with the store": s.effects(), "without the store": {}} {
		live := s.store
		if effects.Store == nil { // then its clock is not the store's
			live = open(t, s.path, Options{})
		}
		begin := newBegin()
		order := func(b machine.Begin) (store.Effect, error) {
			return effects.Do(t.Context(), s.db, invocation(b), placing(b))
		}
		first, err := order(begin)
		if err != nil || first.Replayed || first.Reply.Outcome != machine.CompletedNow || first.Scope != begin.Scope {
			t.Fatalf("%s: %+v, %v", name, first, err)
		}
		again, err := order(anotherCaller(begin))
		if err != nil || !again.Replayed || string(again.Response.Data) != string(first.Response.Data) {
			t.Fatalf("%s: %+v, %v", name, again, err)
		}
		other := anotherCaller(begin)
		other.Fingerprints = []machine.Fingerprint{{Version: 1, Sum: machine.Digest{2}}}
		_, err = order(other)
		refused(t, err, machine.FingerprintMismatch)
		if n := s.orders(begin); n != 1 {
			t.Errorf("%s: %d orders", name, n)
		}
		// The store has the record that its own commands would have made.
		replay := want(t, live, machine.Replay, anotherCaller(begin))
		if replay.Finished != first.Reply.Finished || replay.WindowEnd != first.Reply.WindowEnd || replay.Revision != 2 || replay.Attempt != 1 {
			t.Errorf("%s: recorded %+v, was told %+v", name, replay, first.Reply)
		}
	}
}

// Many callers, one key: one order, and every caller has the answer.
func TestDuplicatesOfAnEffect(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	effects := s.effects()
	effects.BusyTimeout = time.Minute
	var ran, answered atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			effect, err := effects.Do(t.Context(), s.db, invocation(anotherCaller(begin)), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
				ran.Add(1)
				return placing(begin)(ctx, tx)
			})
			if err != nil || string(effect.Response.Data) != "ordered "+begin.Scope.Digest.String() {
				t.Errorf("%+v, %v", effect, err)
				return
			}
			answered.Add(1)
		})
	}
	group.Wait()
	if ran.Load() != 1 || s.orders(begin) != 1 || answered.Load() != 50 {
		t.Errorf("ran %d times, %d orders, %d answered", ran.Load(), s.orders(begin), answered.Load())
	}
}

// While two versions of the secret live there are two records that a key may have. The older one is asked
// first, and makes no new ones.
func TestAnEffectHasTwoCandidates(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := machine.InstantOf(s.clock.now())
	do := func(older, newer machine.Begin) store.Effect {
		t.Helper()
		v := invocation(newer)
		v.Candidates = []store.Candidate{{Scope: older.Scope, CreateBefore: now}, {Scope: newer.Scope, CreateFrom: now}}
		effect, err := s.effects().Do(t.Context(), s.db, v, placing(newer))
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

// An answer that is recorded while somebody looks is judged no earlier than it was given: one with a window of nothing has
// expired.
func TestAnAnswerIsNotJudgedBeforeItWasGiven(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	e, err := s.effects().prepare(t.Context(), invocation(anotherCaller(begin)))
	if err != nil {
		t.Fatal(err)
	}
	e.now = func() time.Time {
		before := s.clock.now()
		s.clock.advance(time.Second)
		v := invocation(begin)
		v.Window = 0
		if _, err := s.effects().Do(t.Context(), s.db, v, placing(begin)); err != nil {
			t.Error(err)
		}
		return before
	}
	known, effect, err := e.glance(t.Context(), s.db)
	if !known {
		t.Errorf("%+v", effect)
	}
	refused(t, err, machine.Gone)
}

// A key that was given up is taken over by an effect, and the writer of the store, which remembers the
// record as it wrote it, notices.
func TestAnEffectTakesOver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	reply := want(t, s.store, machine.Acquired, begin)
	_, err := s.order(anotherCaller(begin))
	if refusal := refused(t, err, machine.InProgress); refusal.Reply.LeaseEnd != reply.LeaseEnd {
		t.Errorf("told the lease's end %v, it is %v", refusal.Reply.LeaseEnd, reply.LeaseEnd)
	}
	failed := machine.Fail{Hold: completion(begin, nil).Hold, NoEffect: true, Reason: "refused", Remember: time.Hour}
	want(t, s.store, machine.Failed, failed)
	if s.store.writer.tx.memory.rows[begin.Scope.Digest].record == nil {
		t.Error("the writer does not remember the record: nothing would be shown")
	}
	effect, err := s.order(anotherCaller(begin))
	if err != nil || effect.Reply.Attempt != 2 || s.orders(begin) != 1 {
		t.Errorf("%+v, %v, %d orders", effect, err, s.orders(begin))
	}
	want(t, s.store, machine.NotOwner, completion(begin, nil))
	if record := want(t, s.store, machine.Found, machine.Inspect{Scope: begin.Scope}).Record; record.Revision != effect.Reply.Revision {
		t.Errorf("recorded revision %d, told %d", record.Revision, effect.Reply.Revision)
	}
}

// Who waits for a key in this process is woken by the effect that answers it.
func TestAnEffectWakesWhoWaits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	want(t, s.store, machine.Acquired, begin)
	want(t, s.store, machine.Failed, machine.Fail{Hold: completion(begin, nil).Hold, NoEffect: true, Reason: "refused", Remember: time.Hour})
	changed, stop := s.store.Watch(begin.Scope, 2)
	defer stop()
	select {
	case <-changed:
		t.Fatal("it has changed already")
	default:
	}
	if _, err := s.order(anotherCaller(begin)); err != nil {
		t.Fatal(err)
	}
	<-changed
}
