package sqlitestore

import (
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func renewal(begin machine.Begin) machine.Renew {
	return machine.Renew{Hold: completion(begin, nil).Hold, Lease: time.Hour}
}

// What the writer remembers of its own records does not hide what another handle made of them.
func TestOthersChangesAreSeen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	ours, others := open(t, path, Options{}), open(t, path, Options{})
	begins := begun(t, ours, 3)

	want(t, others, machine.Renewed, renewal(begins[0]))
	want(t, ours, machine.Stale, completion(begins[0], nil))

	want(t, others, machine.CompletedNow, completion(begins[1], []byte("answer")))
	reply := want(t, ours, machine.Replay, anotherCaller(begins[1]))
	if string(reply.Response.Data) != "answer" {
		t.Errorf("answer %q", reply.Response.Data)
	}
	// What was not changed is still there after the memory was dropped.
	want(t, ours, machine.CompletedNow, completion(begins[2], nil))
}

// What was rolled back is not remembered as done.
func TestWhatWasUndoneIsForgotten(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	begin := begun(t, s, 1)[0]
	failures := 1
	sabotage(t, s, func(tx *transaction) *statement { return tx.updating }, func([]driver.NamedValue) error {
		if failures--; failures == 0 {
			return errors.New("this row cannot be written")
		}
		return nil
	})
	if _, err := s.Apply(t.Context(), renewal(begin)); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a renewal that cannot be written: %v", err)
	}
	want(t, s, machine.Renewed, renewal(begin))
}

// What is remembered of a row that is not there is never taken for a change of it: nothing is acknowledged, and the next try reads.
func TestAMemoryThatIsWrong(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	for _, command := range []func(hold machine.Hold) machine.Command{
		func(hold machine.Hold) machine.Command { return machine.Renew{Hold: hold, Lease: time.Minute} },
		func(hold machine.Hold) machine.Command { return machine.Release{Hold: hold} },
	} {
		claim := newBegin().Claim
		want(t, s, machine.Acquired, claim)
		s.writer.mu.Lock()
		known := s.writer.tx.memory.rows[claim.Scope.Digest]
		s.writer.tx.memory.rows[claim.Scope.Digest] = row{known.id + 1000, known.record}
		s.writer.mu.Unlock()
		if known.record == nil {
			t.Fatal("the writer remembers nothing")
		}
		c := command(machine.Hold{Scope: claim.Scope, Owner: claim.Owner, Attempt: 1, Revision: 1, Operation: claim.Operation})
		if reply, err := s.Apply(t.Context(), c); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errMoved) {
			t.Errorf("%v: %v, %v", c.Kind(), reply.Outcome, err)
		}
		if revision := want(t, s, machine.Found, machine.Inspect{Scope: claim.Scope}).Revision; revision != 1 {
			t.Errorf("%v: revision %d", c.Kind(), revision)
		}
		if reply := apply(t, s, c); !reply.Outcome.Applied() {
			t.Errorf("%v, sent again: %v", c.Kind(), reply.Outcome)
		}
	}
}

// What a purge has deleted is not remembered: a claim that saw it before makes a new record.
func TestWhatWasPurgedIsForgotten(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newStore(t, Options{Clock: clock.now})
	begin := newBegin()
	want(t, s, machine.Acquired, begin.Claim)
	clock.advance(8 * 24 * time.Hour)
	if deleted, err := s.Purge(t.Context(), 10); err != nil || deleted != 1 {
		t.Fatalf("deleted %d, %v", deleted, err)
	}
	r := newRequest()
	r.command = begin // it is not fresh
	if reply, err := s.await(t.Context(), r); err != nil || reply.Outcome != machine.Acquired {
		t.Fatalf("%v, %v", reply.Outcome, err)
	}
	want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope})
}

// However many records are open, the writer holds few of them, and finds the others in the file.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := memory{rows: map[machine.Digest]row{}}
	for i := range 3 * memoryLimit {
		m.put(int64(i), &machine.Record{State: machine.Executing, Scope: machine.Scope{Digest: machine.Digest{byte(i), byte(i >> 8), byte(i >> 16)}}})
		if len(m.rows) > memoryLimit {
			t.Fatalf("%d records after %d", len(m.rows), i+1)
		}
	}
	s := newStore(t, Options{})
	begins := begun(t, s, 2)
	if err := s.do(t.Context(), func(tx *transaction, _ time.Time) error { tx.memory.forgetAll(); return nil }); err != nil {
		t.Fatal(err)
	}
	want(t, s, machine.CompletedNow, completion(begins[0], nil))
}
