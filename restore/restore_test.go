package restore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/store"
)

func testRestore(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 50, 4)
	r := w.runner(p, "one")
	if v := w.start(r); v.State != Closing || v.Who != "ann" || v.Program != "test" || v.Epoch != 1 {
		t.Errorf("begun: %+v", v)
	}
	v := w.work(r)
	w.restored(p, v)
	progress, err := r.Status(t.Context())
	w.must(err)
	if len(progress.Phases) != 4 || len(progress.Findings) != 0 {
		t.Errorf("%+v", progress)
	}
	for _, one := range progress.Phases {
		if one.Targets != 13 || one.Done != 13 || one.UnitsDone != 50 || one.UnitsSkipped != 0 || one.StartedAt.IsZero() || one.FinishedAt.Before(one.StartedAt) {
			t.Errorf("%+v", one)
		}
	}
}

// Within a process nobody waits until it is time to look again.
func testHearsItself(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 50, 4)
	o := options("one")
	o.Poll = time.Hour
	r := New(w.sessions(), p, o)
	w.start(r)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // before anybody looks by itself
	defer cancel()
	v, err := r.Work(ctx)
	w.must(err)
	w.restored(p, v)
}

// Three processes share a session: nothing is done twice, and each does something.
func testThreeProcesses(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 300, 2)
	var mu sync.Mutex
	applied := map[string]int{}
	var group errgroup.Group
	all := make(chan struct{}) // each has applied something
	for _, name := range []string{"one", "two", "three"} {
		r := New(w.sessions(), watched{p, func(moment string) error {
			if moment != "before apply" {
				return nil
			}
			mu.Lock()
			applied[name]++
			if applied[name] == 1 && len(applied) == 3 {
				close(all)
			}
			mu.Unlock()
			<-all
			return nil
		}}, options(name))
		if name == "one" {
			w.start(r)
		}
		group.Go(func() error {
			v, err := r.Work(t.Context())
			if err == nil && v.State != Finished {
				t.Errorf("%s ended while the session was %s", name, v.State)
			}
			return err
		})
	}
	w.must(group.Wait())
	v, err := w.sessions().Last(t.Context(), p.name)
	w.must(err)
	w.restored(p, v)
	if total := applied["one"] + applied["two"] + applied["three"]; total != 450 {
		t.Errorf("%v: targets were applied more than once", applied)
	}
}

// Errors of any kind are errors: a deadlock, a network that breaks, an error that says nothing.
func testErrorsAreNotTheEnd(t *testing.T, s server) {
	w := newWorld(t, s)
	deadlocks := []error{&pgconn.PgError{Code: "40P01"}, &mysql.MySQLError{Number: 1213}, store.Unavailable(errors.New("reset")), store.Indeterminate(errors.New("time-out")), errors.New("EOF")}
	for i, cause := range deadlocks {
		p := newToy(string(rune('a'+i)), 12, 4)
		p.wrong = "u00003"
		seen := map[string]bool{}
		var mu sync.Mutex
		p.fail = func(call string) error { // each kind of call fails once
			mu.Lock()
			defer mu.Unlock()
			if seen[call] {
				return nil
			}
			seen[call] = true
			return cause
		}
		r := w.runner(p, "one")
		w.start(r)
		v, err := r.Work(t.Context())
		for n := 0; err != nil && n < 20; n++ {
			if v, err := w.sessions().Last(t.Context(), p.name); err != nil || v.State.Over() || v.Trouble == "" {
				t.Fatalf("%v: after an error the session is %+v, %v", cause, v, err)
			}
			v, err = r.Work(t.Context())
		}
		w.must(err)
		w.restored(p, v)
		if passing(cause) && len(w.events(v, EventTaken)) != 1 {
			t.Errorf("%v has ended Work", cause)
		}
	}
}

// A target system that lets nobody do what has to be done ends the process, as often as it is started. It counts for no target, and
// nothing is split or quarantined by it.
func testRefusedTargets(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	refuses := "apply 1"
	p.fail = func(call string) error {
		if call == refuses {
			return fmt.Errorf("%w: %w", ErrRefused, store.Unavailable(errors.New("a right is missing")))
		}
		return nil
	}
	r := w.runner(p, "one")
	v := w.start(r)
	for range 2 * r.options.Attempts {
		if _, err := r.Work(t.Context()); !errors.Is(err, ErrRefused) {
			t.Fatal(err)
		}
	}
	if bad, err := r.sessions.Quarantined(t.Context(), v.ID, 0, 10); err != nil || len(bad) > 0 {
		t.Errorf("%+v, %v", bad, err)
	}
	refuses = ""
	w.restored(p, w.work(r))
}

// A plan that lists less than it counts is not complete, however the list ends.
func testShortLists(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	p.lacks = 1
	r := w.runner(p, "one")
	w.start(r)
	for range 2 {
		if v, err := r.Work(t.Context()); !errors.Is(err, ErrIncomplete) {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	w.sql("UPDATE @restore_phases SET expected = 12") // somebody has found out why
	p.lacks = 0
	w.restored(p, w.work(r))
}

// Nothing is complete that somebody has removed.
func testSomebodyRemovesARow(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	removed := false
	p.fail = func(call string) error {
		if call == "apply 1" && !removed {
			removed = true
			w.sql("DELETE FROM @restore_targets WHERE phase = 1 AND from_key = 'u00008'")
		}
		return nil
	}
	r := w.runner(p, "one")
	r.options.Workers = 1
	w.start(r)
	w.must(w.sessions().Pace(t.Context(), 1, 0, 1, "ann"))
	if v, err := r.Work(t.Context()); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("%+v, %v", v, err)
	}
}

// One bad unit costs itself: it is split out and quarantined, and the rest is restored.
func testQuarantine(t *testing.T, s server) {
	w := newWorld(t, s)
	for name, cause := range map[string]error{"bad": ErrBadUnit, "failing": errors.New("no such family")} {
		p := newToy(name, 32, 16)
		p.sick = map[string]error{"u00005": cause}
		r := w.runner(p, "one")
		w.start(r)
		v := w.work(r)
		w.restored(p, v)
		all, err := w.sessions().Quarantined(t.Context(), v.ID, 0, 10)
		w.must(err)
		if len(all) != 1 || all[0].From != "u00005" || all[0].Units != 1 || all[0].Phase != 1 || all[0].Reason != "unit u00005: "+cause.Error() {
			t.Errorf("quarantined: %+v", all)
		}
		progress, err := r.Status(t.Context())
		w.must(err)
		if progress.Quarantined() != 1 || progress.Findings[Quarantined] != 1 {
			t.Errorf("%+v", progress)
		}
		if len(w.events(v, EventQuarantined)) != 1 || len(w.events(v, EventSplit)) != 4 {
			t.Errorf("quarantined %v, split %v", w.events(v, EventQuarantined), w.events(v, EventSplit))
		}
	}
}

// A row that cannot be is quarantined, not applied, and not the end of the others.
func testImpossibleTargets(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	p.fail = func(call string) error {
		if call == "apply 0" {
			w.sql("UPDATE @restore_targets SET units = -3 WHERE phase = 2 AND from_key = 'u00004'")
		}
		return nil
	}
	r := w.runner(p, "one")
	w.start(r)
	v := w.work(r)
	all, err := w.sessions().Quarantined(t.Context(), v.ID, 0, 10)
	w.must(err)
	if len(all) != 1 || all[0].Units != -3 {
		t.Errorf("%+v", all)
	}
}

// What verification finds is corrected, and verified again.
func testCorrections(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 20, 4)
	p.wrong = "u00013"
	verified := 0
	p.fail = func(call string) error {
		if call == "verify" {
			verified++
		}
		return nil
	}
	r := w.runner(p, "one")
	w.start(r)
	v := w.work(r)
	w.restored(p, v)
	found, err := w.sessions().Findings(t.Context(), v.ID, 0, 10)
	w.must(err)
	if len(found) != 1 || found[0].Item != "u00013" || found[0].Outcome != Corrected || verified != 6 || v.Round != 2 {
		t.Errorf("found %+v, verified %d, round %d", found, verified, v.Round)
	}
}

// What cannot be corrected keeps the gate closed until a person has looked.
func testUncorrectable(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 8, 4)
	p.wrong = "u00002"
	stubborn := true
	r := New(w.sessions(), stubbornPlan{p, &stubborn}, options("one"))
	v := w.start(r)
	ended := in(t.Context(), func(ctx context.Context) error { _, err := r.Work(ctx); return err })
	for !v.Paused {
		var err error
		v, err = w.sessions().Session(t.Context(), v.ID)
		w.must(err)
	}
	p.target.mu.Lock()
	if p.target.open || v.State != Verifying {
		t.Errorf("open: %v, %+v", p.target.open, v)
	}
	stubborn = false
	p.target.mu.Unlock()
	w.must(r.Resume(t.Context(), 0, "ann", "put right"))
	w.must(<-ended)
	v, err := w.sessions().Session(t.Context(), v.ID)
	w.must(err)
	w.restored(p, v)
}

// stubbornPlan corrects nothing for as long as it is stubborn.
type stubbornPlan struct {
	*toy
	stubborn *bool
}

func (p stubbornPlan) Correct(ctx context.Context, found Finding, f Fence, keep Keep) (Correction, error) {
	p.target.mu.Lock()
	stubborn := *p.stubborn
	p.target.mu.Unlock()
	if stubborn {
		return Correction{Outcome: found.Outcome, Detail: "it will not"}, nil
	}
	return p.toy.Correct(ctx, found, f, keep)
}
