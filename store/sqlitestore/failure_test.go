package sqlitestore

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// One command of a group makes its statement fail. The group is rolled back; then all but that one are
// done.
func TestAFailingCommandSparesItsNeighbours(t *testing.T) {
	t.Parallel()
	gate := newGate()
	s := newStore(t, Options{Clock: gate.now, Detached: true})
	begins := begun(t, s, 6)
	for i := range 4 { // those of the group have answers that tell them apart
		begins[i].Scope.Operation = "POST /orders"
	}
	poisoned := []byte("poisoned answer")
	sabotage(t, s, func(tx *transaction) *statement { return tx.updating }, func(args []driver.NamedValue) error {
		if bytes.Contains(args[4].Value.([]byte), poisoned) {
			return errors.New("this row cannot be written")
		}
		return nil
	})

	release := gate.close()
	blocked := send(t.Context(), s, completion(begins[5], nil))
	<-gate.arrived
	var results []<-chan result
	for i, begin := range begins[:5] {
		answer := fmt.Appendf(nil, "answer %d", i)
		if i == 2 {
			answer = poisoned
		}
		results = append(results, send(t.Context(), s, completion(begin, answer)))
	}
	waitFor(t, func() bool { return len(s.writer.queue) == 5 })
	release()
	if got := <-blocked; got.err != nil {
		t.Errorf("the first of the group: %v", got.err)
	}
	for i, result := range results {
		got := <-result
		if i == 2 {
			if !errors.Is(got.err, store.ErrUnavailable) {
				t.Errorf("the poisoned command: %v, %v", got.reply.Outcome, got.err)
			}
			continue
		}
		if got.err != nil || got.reply.Outcome != machine.CompletedNow {
			t.Errorf("neighbour %d: %v, %v", i, got.reply.Outcome, got.err)
		}
	}
	if state := want(t, s, machine.Found, machine.Inspect{Scope: begins[2].Scope}).State; state != machine.Executing {
		t.Errorf("the poisoned command left its record %v", state)
	}
}

// A commit that failed for an unknown reason may come back from the log: nobody may be told that it did
// not happen. The store goes on with a new connection.
func TestAnUnknownCommitIsIndeterminate(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	begin := begun(t, s, 1)[0]
	sabotage(t, s, func(tx *transaction) *statement { return tx.committing }, func([]driver.NamedValue) error {
		return errors.New("sync failed")
	})
	_, err := s.Apply(t.Context(), completion(begin, []byte("answer")))
	if !errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a commit that failed: %v", err)
	}
	want(t, s, machine.CompletedNow, completion(begin, []byte("answer")))
}

// A full disk refuses what needs room, says so, and works again when there is room. What needs no room
// is answered all the time.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	begin := begun(t, s, 1)[0]
	want(t, s, machine.CompletedNow, completion(begin, []byte("answer")))
	limitPages(t, s, "PRAGMA max_page_count = 1") // no less than there are
	var refused machine.Begin
	for {
		refused = newBegin()
		_, err := s.Apply(t.Context(), refused)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "free disk space") {
			t.Fatalf("a begin on a full disk: %v", err)
		}
		break
	}
	want(t, s, machine.Replay, anotherCaller(begin))
	want(t, s, machine.NotFound, machine.Inspect{Scope: refused.Scope})
	limitPages(t, s, "PRAGMA max_page_count = 1000000")
	want(t, s, machine.Acquired, refused)
	if err := integrity(s); err != nil {
		t.Error(err)
	}
}

func limitPages(t *testing.T, s *Store, pragma string) {
	t.Helper()
	if err := s.do(t.Context(), func(tx *transaction, _ time.Time) error { return tx.conn.exec(pragma) }); err != nil {
		t.Fatal(err)
	}
}

// A damaged record is told as such by every command, is listed, and holds nobody else up.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newStore(t, Options{Clock: clock.now})
	begins := begun(t, s, 3)
	want(t, s, machine.CompletedNow, completion(begins[0], []byte("answer")))
	want(t, s, machine.CompletedNow, completion(begins[1], []byte("answer")))
	damaged := begins[0].Scope
	err := s.do(t.Context(), func(tx *transaction, _ time.Time) error {
		return tx.conn.exec("UPDATE reprise_record SET record = substr(record, 1, 20) WHERE digest = ?", damaged.Digest[:])
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []machine.Command{begins[0], begins[0].Claim, completion(begins[0], nil), machine.Inspect{Scope: damaged}, machine.Forget{Scope: damaged}} {
		_, err := s.Apply(t.Context(), command)
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), damaged.Digest.String()) {
			t.Errorf("%v on a damaged record: %v", command.Kind(), err)
		}
	}
	page, err := s.List(t.Context(), store.Filter{}, "", 10)
	if err != nil || len(page.Records) != 2 || len(page.Unreadable) != 1 || page.Unreadable[0] != damaged.Digest {
		t.Errorf("list: %d records, unreadable %v, %v", len(page.Records), page.Unreadable, err)
	}
	if counts, err := s.Count(t.Context()); err != nil || counts.States[machine.Completed] != 1 || counts.States[machine.Executing] != 1 {
		t.Errorf("count: %+v, %v", counts, err)
	}
	clock.advance(25 * time.Hour)
	if deleted, err := s.Purge(t.Context(), 10); err != nil || deleted != 1 {
		t.Errorf("purge deleted %d, %v; want the one answer that can be read", deleted, err)
	}
	if _, err := s.Apply(t.Context(), machine.Inspect{Scope: damaged}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the damaged record after a purge: %v", err)
	}
}
