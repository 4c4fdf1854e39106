package sqlitestore

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// fill writes completed records and executing ones.
func fill(t *testing.T, s *Store, completed, executing int) {
	t.Helper()
	err := s.do(t.Context(), func(tx *transaction, now time.Time) error {
		for i := range completed + executing {
			begin := newBegin()
			if _, err := tx.apply(begin, true, now); err != nil {
				return err
			}
			if i < completed {
				if _, err := tx.apply(completion(begin, nil), false, now); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pages lists everything that a filter finds, page by page.
func pages(t *testing.T, s *Store, filter store.Filter, limit, scan int) (records []*machine.Record, count int) {
	t.Helper()
	for cursor := ""; ; {
		page, err := s.list(t.Context(), filter, cursor, limit, scan)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Records) > limit {
			t.Fatalf("a page of at most %d has %d records", limit, len(page.Records))
		}
		records, count = append(records, page.Records...), count+1
		if cursor = page.Next; cursor == "" {
			return records, count
		}
	}
}

// Every record is listed once, whatever the sizes of pages, chunks and scans.
func TestListPages(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newStore(t, Options{Clock: clock.now})
	fill(t, s, 1250, 50)
	clock.advance(time.Minute) // the executions are interrupted
	for _, c := range []struct {
		name        string
		filter      store.Filter
		limit, scan int
		want        int
	}{
		{"all at once", store.Filter{}, 2000, 10_000, 1300},
		{"a page is a chunk", store.Filter{}, scanChunk, 10_000, 1300},
		{"small pages", store.Filter{}, 7, 10_000, 1300},
		{"the scan ends first", store.Filter{}, 1000, 13, 1300},
		{"few fit", store.Filter{States: []machine.State{machine.Abandoned}}, 7, 10_000, 50},
		{"few fit among many", store.Filter{States: []machine.State{machine.Abandoned, machine.Expired}}, 7, 100, 50},
		{"none fits", store.Filter{Operation: "PUT /orders"}, 7, 100, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, _ := pages(t, s, c.filter, c.limit, c.scan)
			seen := map[machine.Digest]bool{}
			for _, r := range records {
				seen[r.Scope.Digest] = true
			}
			if len(records) != c.want || len(seen) != c.want {
				t.Errorf("%d records, %d different ones; want %d", len(records), len(seen), c.want)
			}
		})
	}
	if _, err := s.List(t.Context(), store.Filter{}, "elsewhere", 10); err == nil {
		t.Error("a cursor that is none was accepted")
	}
}

// Because what is stuck must be found at once among millions of answers: its listing does not look at them.
func TestListOfOpenRecordsSkipsAnswers(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	fill(t, s, 1000, 30)
	records, count := pages(t, s, store.Filter{States: []machine.State{machine.Executing}}, 1000, 100)
	if len(records) != 30 || count != 1 {
		t.Errorf("%d records on %d pages that look at 100 rows each", len(records), count)
	}
}

func TestCountOfASample(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	fill(t, s, 4000, 3)
	exact, err := s.count(t.Context(), 5000)
	if err != nil || exact.Sampled || exact.States[machine.Completed] != 4000 || exact.States[machine.Executing] != 3 {
		t.Errorf("exact: %+v, %v", exact, err)
	}
	sampled, err := s.count(t.Context(), 1000)
	if err != nil || !sampled.Sampled {
		t.Fatalf("sampled: %+v, %v", sampled, err)
	}
	// 1,000 of 4,000 evenly spread digests: the standard error is about 3 %; a third is ten of them.
	if off := math.Abs(float64(sampled.States[machine.Completed])/4000 - 1); off > 1.0/3 {
		t.Errorf("an estimate of 4000 is %d", sampled.States[machine.Completed])
	}
	if sampled.States[machine.Executing] != 3 {
		t.Errorf("executing records are counted one by one, and are %d of 3", sampled.States[machine.Executing])
	}
}

// Because an unbounded purge stalls production (case O40): it goes in small transactions, stops where it
// was told to, and leaves what is unfinished.
func TestPurge(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newStore(t, Options{Clock: clock.now})
	fill(t, s, 500, 20)
	if deleted, err := s.Purge(t.Context(), 1000); deleted != 0 || err != nil {
		t.Fatalf("before anything is due: %d, %v", deleted, err)
	}
	clock.advance(10 * 365 * 24 * time.Hour)
	for _, c := range []struct{ limit, want int }{{0, 0}, {1, 1}, {250, 250}, {1000, 249}, {1000, 0}} {
		if deleted, err := s.Purge(t.Context(), c.limit); deleted != c.want || err != nil {
			t.Errorf("purge of at most %d: %d, %v; want %d", c.limit, deleted, err, c.want)
		}
	}
	counts, err := s.Count(t.Context())
	if err != nil || counts.Due != 0 || counts.States[machine.Abandoned] != 20 || len(counts.States) != 1 {
		t.Errorf("left: %+v, %v", counts, err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	begin := begun(t, s, 1)[0]
	changed, stop := s.Watch(begin.Scope, 1)
	ended, stopAtOnce := s.Watch(begin.Scope, 1)
	stopAtOnce()
	select {
	case <-changed:
		t.Error("woken before anything changed")
	default:
	}
	want(t, s, machine.CompletedNow, completion(begin, nil))
	<-changed
	stop()
	select {
	case <-ended:
		t.Error("a watch that was ended was woken")
	default:
	}
	late, stop := s.Watch(begin.Scope, 1)
	defer stop()
	<-late // it had changed already
	if len(s.watchers.waiting) != 0 {
		t.Errorf("%d watches are left", len(s.watchers.waiting))
	}
}

// One test by the machine's own clock: a lease that runs out, and a window that ends.
func TestRealTime(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	begin := newBegin()
	begin.Lease = 200 * time.Millisecond
	want(t, s, machine.Acquired, begin)
	other := anotherCaller(begin)
	until(t, s, other, machine.InProgress, machine.RecoveryRequired)

	complete := completion(begin, []byte("answer"))
	complete.Window, complete.Remember = 200*time.Millisecond, 400*time.Millisecond
	want(t, s, machine.CompletedNow, complete) // nobody has replaced the owner
	until(t, s, other, machine.Replay, machine.Gone)
	until(t, s, other, machine.Gone, machine.Acquired)
}

// until sends a command until its outcome changes. On a slow machine the first one may be over already.
func until(t *testing.T, s *Store, command machine.Command, first, then machine.Outcome) {
	t.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		switch outcome := apply(t, s, command).Outcome; outcome {
		case then:
			return
		case first:
		default:
			t.Fatalf("outcome %v; want %v, then %v", outcome, first, then)
		}
	}
}

// A look takes the time before it takes the snapshot, and may find an answer that is younger. One with a window of nothing had
// ended when it was made.
func TestALookDoesNotJudgeAnAnswerBeforeItWasFinished(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newStore(t, Options{Clock: clock.now})
	begin := begun(t, s, 1)[0]
	complete := completion(begin, []byte("answer"))
	complete.Window = 0
	want(t, s, machine.CompletedNow, complete)
	clock.advance(-time.Microsecond) // to the time of who looks, before
	want(t, s, machine.Gone, anotherCaller(begin))
}

// Read the other way round, the time after the snapshot, a live execution whose lease was renewed in between would be taken for
// an interrupted one.
func TestALookTakesTheTimeBeforeTheSnapshot(t *testing.T) {
	t.Parallel()
	clock, path := newClock(), filepath.Join(t.TempDir(), "reprise.db")
	var meanwhile func()
	s := open(t, path, Options{Clock: func() time.Time {
		if meanwhile != nil {
			meanwhile()
		}
		return clock.now()
	}})
	owner := open(t, path, Options{Clock: clock.now})
	begin := newBegin()
	want(t, owner, machine.Acquired, begin)
	meanwhile = func() {
		meanwhile = nil
		want(t, owner, machine.Renewed, renewal(begin))
		clock.advance(begin.Lease)
	}
	if state := want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope}).State; state != machine.Executing {
		t.Errorf("the execution is %v", state)
	}
}
