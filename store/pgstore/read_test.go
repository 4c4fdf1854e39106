package pgstore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// answer makes completed records, and returns their begins.
func answer(t testing.TB, s *Store, n int) []machine.Begin {
	t.Helper()
	begins := make([]machine.Begin, n)
	var group sync.WaitGroup
	for i := range begins {
		begins[i] = newBegin()
		group.Go(func() {
			want(t, s, machine.Acquired, begins[i])
			want(t, s, machine.CompletedNow, completion(begins[i], []byte(fmt.Sprint(i))))
		})
	}
	group.Wait()
	return begins
}

// A page looks at a bounded number of rows and can be empty; the listing goes on after it.
func TestListLooksAtBoundedNumbersOfRows(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{})
	answer(t, s, 25)
	begin := newBegin()
	begin.Scope.Operation = "POST /rare"
	want(t, s, machine.Acquired, begin)
	found, pages, cursor := 0, 0, ""
	for {
		page, err := s.list(t.Context(), store.Filter{Operation: "POST /rare"}, cursor, 10, 4)
		if err != nil {
			t.Fatal(err)
		}
		found, pages = found+len(page.Records), pages+1
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if found != 1 || pages != 7 {
		t.Errorf("found %d in %d pages of 4 rows, want 1 in 7", found, pages)
	}
}

// Large numbers are estimated. What is not answered yet is in a table of its own, and is counted.
func TestCountEstimates(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{})
	answer(t, s, 400)
	want(t, s, machine.Acquired, newBegin())
	exact, err := s.Count(t.Context())
	if err != nil || exact.Sampled || exact.States[machine.Completed] != 400 || exact.States[machine.Executing] != 1 {
		t.Errorf("%+v, %v", exact, err)
	}
	estimate, err := s.count(t.Context(), 100)
	n := estimate.States[machine.Completed]
	if err != nil || !estimate.Sampled || n < 250 || n > 600 || estimate.States[machine.Executing] != 1 {
		t.Errorf("%+v, %v", estimate, err)
	}
}

// A purge leaves a key that somebody holds, removes all the others, and keeps what is not due.
func TestPurgeLeavesWhatIsHeld(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	due := answer(t, s, purgeBatch+20)
	long := newBegin()
	long.Lease = 20 * 24 * time.Hour
	want(t, s, machine.Acquired, long)
	claim := newBegin().Claim
	want(t, s, machine.Acquired, claim) // forgotten a week after its lease
	d.advance(8 * 24 * time.Hour)
	kept := answer(t, s, 3)
	tx, err := d.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range due[:2] {
		if _, err := tx.Exec(t.Context(), s.sql.lock, lockOf(b.Scope.Digest)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Purge(t.Context(), 10); n != 10 && n != 9 && n != 8 || err != nil {
		t.Errorf("purged %d of at most 10: %v", n, err)
	}
	total, rest := 0, len(due)+1-2
	for range 5 {
		n, err := s.Purge(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	counts, err := s.Count(t.Context())
	if err != nil || counts.Due != 2 || total > rest || counts.States[machine.Completed] != int64(len(kept)) || counts.States[machine.Executing] != 1 {
		t.Errorf("purged %d: %+v, %v", total, counts, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(t.Context(), 1000); n != 2 || err != nil {
		t.Errorf("purged %d once they were free: %v", n, err)
	}
}

// A purge whose transaction is open, however long, delays nobody: other keys are begun, answered and
// replayed meanwhile, and what it has deleted is still there for who reads it.
func TestAPurgeDelaysNoOther(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	due := answer(t, s, 50)
	d.advance(8 * 24 * time.Hour)
	tx, err := d.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found, gone int
	if err := tx.QueryRow(t.Context(), s.sql.purgeAnswered, 1000).Scan(&found, &gone); err != nil || gone != len(due) {
		t.Fatalf("%d of %d were deleted: %v", gone, found, err)
	}
	for _, b := range answer(t, s, 200) {
		want(t, s, machine.Replay, anotherCaller(b))
	}
	if n, err := s.Purge(t.Context(), 1000); n != 0 || err != nil {
		t.Errorf("another purge deleted %d: %v", n, err)
	}
	if counts, err := s.Count(t.Context()); err != nil || counts.Due != int64(len(due)) {
		t.Errorf("%+v, %v", counts, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, s, machine.NotFound, machine.Inspect{Scope: due[0].Scope})
	want(t, s, machine.Acquired, anotherCaller(due[0]))
}

// A look takes the time before it takes the snapshot, and may find an answer that is younger. One with a window of nothing had
// ended when it was made.
func TestALookDoesNotJudgeAnAnswerBeforeItWasFinished(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	complete := completion(begin, []byte("answer"))
	complete.Window = 0
	want(t, s, machine.CompletedNow, complete)
	d.advance(-time.Hour) // to the time of who looks, before
	want(t, s, machine.Gone, anotherCaller(begin))
}
