package sqlitestore

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// group sends the completions of some keys, so that all are in one group, and returns their results. The
// statement of the last one fails after failing was called.
func group(t *testing.T, s *Store, gate *gate, contexts []context.Context, begins []machine.Begin, failing func()) []<-chan result {
	t.Helper()
	poisoned := []byte("poisoned answer")
	sabotage(t, s, func(tx *transaction) *statement { return tx.updating }, func(args []driver.NamedValue) error {
		if !bytes.Contains(args[4].Value.([]byte), poisoned) {
			return nil
		}
		failing()
		return errors.New("this row cannot be written")
	})
	release := gate.close()
	results := make([]<-chan result, len(begins))
	for i, begin := range begins {
		answer := []byte("answer")
		if i == len(begins)-1 {
			answer = poisoned
		}
		results[i] = send(contexts[i], s, completion(begin, answer))
		if i == 0 {
			<-gate.arrived // the group has begun
		}
		waitFor(t, func() bool { return len(s.writer.queue) == i })
	}
	release()
	return results
}

// A group that is undone is not run again for callers who have left: they know that nobody knows.
func TestUndoSkipsThoseWhoLeft(t *testing.T) {
	t.Parallel()
	gate := newGate()
	s := newStore(t, Options{Clock: gate.now, Detached: true})
	begins := begun(t, s, 4)
	leaving, leave := context.WithCancel(t.Context())
	contexts := []context.Context{t.Context(), leaving, t.Context(), t.Context()}
	leaver, gone := make(chan (<-chan result), 1), make(chan result, 1)
	again := false // the poisoned one fails once more when it is tried alone
	results := group(t, s, gate, contexts, begins, func() {
		if again {
			return
		}
		again = true
		leave()
		waiting := <-leaver
		gone <- <-waiting
	})
	leaver <- results[1]
	if got := <-gone; !errors.Is(got.err, store.ErrIndeterminate) {
		t.Errorf("who left: %v, %v", got.reply.Outcome, got.err)
	}
	for i, outcome := range map[int]machine.Outcome{0: machine.CompletedNow, 2: machine.CompletedNow, 3: 0} {
		if got := <-results[i]; got.reply.Outcome != outcome || (got.err != nil) != (outcome == 0) {
			t.Errorf("command %d: %v, %v", i, got.reply.Outcome, got.err)
		}
	}
	if state := want(t, s, machine.Found, machine.Inspect{Scope: begins[1].Scope}).State; state != machine.Executing {
		t.Errorf("it was run again for a caller who had left: the record is %v", state)
	}
}

// While another process holds the lock, the requests of a group that is undone wait for it together as
// long as one does.
func TestUndoWaitsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock moves when everybody waits
		const busy, requests = time.Second, 6
		gate, path := newGate(), filepath.Join(t.TempDir(), "reprise.db")
		s := open(t, path, Options{Clock: gate.now, Detached: true, BusyTimeout: busy})
		begins := begun(t, s, requests)
		other, err := connect(path, 0, readerCache)
		if err != nil {
			t.Fatal(err)
		}
		failed, held := false, time.Time{} // the writer's
		sabotage(t, s, func(tx *transaction) *statement { return tx.beginning }, func([]driver.NamedValue) error {
			if failed && held.IsZero() {
				held = time.Now()
				return other.exec("BEGIN IMMEDIATE")
			}
			return nil
		})
		var contexts [requests]context.Context
		for i := range contexts {
			contexts[i] = t.Context()
		}
		for i, result := range group(t, s, gate, contexts[:], begins, func() { failed = true }) {
			if got := <-result; !errors.Is(got.err, store.ErrUnavailable) {
				t.Errorf("command %d: %v, %v", i, got.reply.Outcome, got.err)
			}
		}
		if waited := time.Since(held); held.IsZero() || waited > busy {
			t.Errorf("the group waited %v for the lock, one command waits %v", waited, busy)
		}
		if err := other.close(); err != nil {
			t.Fatal(err)
		}
		want(t, s, machine.CompletedNow, completion(begins[0], []byte("answer")))
	})
}
