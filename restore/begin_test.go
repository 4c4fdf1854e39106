package restore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/store"
)

// A second restore while one runs is told which one, by whom, and since when.
func testSecondSession(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	paused, goOn := make(chan struct{}), make(chan struct{})
	first := New(w.sessions(), watched{p, func(moment string) error {
		if moment == "before drain" {
			close(paused)
			<-goOn
		}
		return nil
	}}, options("host-1"))
	v := w.start(first)
	ended := in(t.Context(), func(ctx context.Context) error { _, err := first.Work(ctx); return err })
	<-paused
	_, _, err := w.runner(p, "host-2").Start(t.Context(), request())
	if !errors.Is(err, ErrRunning) {
		t.Fatal(err)
	}
	for _, part := range []string{"session 1", "ann", "host-1", v.StartedAt.Format(time.RFC3339)} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: does not say %s", err, part)
		}
	}
	other := newToy("other", 4, 4) // another plan is another matter
	w.start(w.runner(other, "host-2"))
	close(goOn)
	w.must(<-ended)
}

// However many begin one at the same time, there is one.
func testBegunByMany(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	var group errgroup.Group
	for range 6 {
		r := w.runner(p, "one")
		group.Go(func() error {
			_, _, err := r.Start(t.Context(), request())
			return err
		})
	}
	w.must(group.Wait())
	r := w.runner(p, "one")
	v := w.work(r)
	w.restored(p, v)
	if v.ID != 1 || len(w.events(v, EventBegun)) != 1 {
		t.Errorf("%+v", v)
	}
}

// What one configuration has begun, another one does not go on with.
func testOtherConfiguration(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	w.start(w.runner(p, "one"))
	p.digest = "d2"
	r := w.runner(p, "one")
	_, _, err := r.Start(t.Context(), request())
	_, failed := r.Work(t.Context())
	for _, err := range []error{err, failed} {
		if !errors.Is(err, ErrOtherPlan) || !strings.Contains(err.Error(), "toy d1") || !strings.Contains(err.Error(), "toy d2") || !strings.Contains(err.Error(), "ann") {
			t.Errorf("%v", err)
		}
	}
	p.digest = "d1"
	if _, _, err := r.Start(t.Context(), Request{Who: "ann", Why: "x", FailedAt: time.Now().Add(-time.Hour)}); !errors.Is(err, ErrOtherPlan) {
		t.Errorf("for another failure: %v", err)
	}
	w.restored(p, w.work(r))
}

func testTimeOfFailure(t *testing.T, s server) {
	w := newWorld(t, s)
	r := w.runner(newToy("toy", 12, 4), "one")
	now, err := r.sessions.db.Now(t.Context())
	w.must(err)
	for _, at := range []time.Time{now.Add(time.Hour), now.Add(-25 * time.Hour)} {
		if _, _, err := r.Start(t.Context(), Request{Who: "ann", Why: "x", FailedAt: at}); !errors.Is(err, ErrFailureTime) || errors.Is(err, ErrRequest) != at.After(now) {
			t.Errorf("%v: %v", at, err)
		}
	}
	if _, err := r.Work(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("a refused restore: %v", err)
	}
	at := now.Add(-23 * time.Hour)
	v, _, err := r.Start(t.Context(), Request{Who: "ann", Why: "x", FailedAt: at})
	w.must(err)
	again, resumed, err := r.Start(t.Context(), Request{Who: "bob", Why: "y", FailedAt: at})
	if err != nil || !resumed || again.ID != v.ID || again.Who != "ann" {
		t.Errorf("the same again: %+v, %v, %v", again, resumed, err)
	}
	for _, bad := range []Request{{Why: "x"}, {Who: "x"}, {Who: "x", Why: "x", Rate: -1}, {Who: "x", Why: "x", Batch: 100000}} {
		if _, _, err := r.Start(t.Context(), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// Who and why are refused alike by every server if one of them could not keep them, and kept if they are as long as they may be.
func testWhoAndWhy(t *testing.T, s server) {
	w := newWorld(t, s)
	r := w.runner(newToy("toy", 12, 4), "one")
	who, why := strings.Repeat("\U0001F525", maxWho), strings.Repeat("\U0001F525", maxWhy)
	bad := [][2]string{{who + "a", "x"}, {"a\x00b", "x"}, {"a\xff", "x"}, {"ann", why + "a"}, {"ann", "a\x00b"}, {"ann", "a\xff"}}
	for _, b := range bad {
		if _, _, err := r.Start(t.Context(), Request{Who: b[0], Why: b[1]}); !errors.Is(err, ErrRequest) || passing(err) {
			t.Errorf("%.20q because of %.20q: %v", b[0], b[1], err)
		}
	}
	v, _, err := r.Start(t.Context(), Request{Who: who, Why: why})
	w.must(err)
	for name, change := range map[string]func(context.Context, int64, string, string) error{"pause": r.Pause, "resume": r.Resume, "cancel": r.Cancel} {
		for _, b := range append(bad, [2]string{"", "x"}) {
			if err := change(t.Context(), 0, b[0], b[1]); !errors.Is(err, ErrRequest) || passing(err) {
				t.Errorf("%s by %.20q because of %.20q: %v", name, b[0], b[1], err)
			}
		}
	}
	w.must(r.Pause(t.Context(), 0, who, why))
	w.must(r.Resume(t.Context(), 0, who, why))
	w.must(r.Cancel(t.Context(), 0, who, why))
	v, err = w.sessions().Session(t.Context(), v.ID)
	if err != nil || v.Who != who || v.Why != why || v.Reason != who+": "+why {
		t.Errorf("what was kept is not what was said: %v", err)
	}
}

// A complete restore is not done again, unless something was lost since or somebody insists.
func testAlreadyComplete(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	r := w.runner(p, "one")
	w.start(r)
	first := w.work(r)
	applied := len(p.target.applied)
	if _, _, err := r.Start(t.Context(), request()); !errors.Is(err, ErrComplete) || !strings.Contains(err.Error(), "already complete, nothing done") {
		t.Fatalf("again: %v", err)
	}
	if len(p.target.applied) != applied || !p.target.open {
		t.Error("something was done")
	}
	p.fail = func(call string) error { // nobody knows whether what was restored is still there
		if call == "generation" {
			return errKilled
		}
		return nil
	}
	if _, _, err := r.Start(t.Context(), request()); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, ErrComplete) || !strings.Contains(err.Error(), "--again") {
		t.Errorf("of a system that does not answer: %v", err)
	}
	if last, err := r.sessions.Last(t.Context(), p.name); err != nil || last.ID != first.ID {
		t.Errorf("it was begun: %+v, %v", last, err)
	}
	p.fail = nil
	v, resumed, err := r.Start(t.Context(), Request{Who: "ann", Why: "x", Again: true})
	if err != nil || resumed || v.ID == first.ID || v.Epoch <= first.Epoch {
		t.Fatalf("insisting: %+v, %v, %v", v, resumed, err)
	}
	w.restored(p, w.work(r))
	p.target.wipe()
	w.start(r)
	w.restored(p, w.work(r))
}

// A paused session does nothing until it is resumed, also when other processes come.
func testPause(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 40, 2)
	applying, asked := make(chan struct{}), 0
	r := New(w.sessions(), watched{p, func(moment string) error {
		if moment == "before apply" {
			if asked++; asked == 1 {
				close(applying)
			}
		}
		return nil
	}}, options("one"))
	v := w.start(r)
	w.must(r.Pause(t.Context(), 0, "ann", "look first"))
	ended := in(t.Context(), func(ctx context.Context) error { _, err := r.Work(ctx); return err })
	for !v.Led {
		var err error
		v, err = w.sessions().Session(t.Context(), v.ID)
		w.must(err)
	}
	if v.State != Closing || !v.Paused || v.Reason != "ann: look first" {
		t.Errorf("%+v", v)
	}
	w.must(r.Resume(t.Context(), 0, "ann", "go on"))
	<-applying
	w.must(r.Pause(t.Context(), 0, "bob", "too fast"))
	ctx, cancel := context.WithCancel(t.Context())
	other := in(ctx, func(ctx context.Context) error { _, err := w.runner(p, "two").Work(ctx); return err })
	if c, err := w.sessions().claim(t.Context(), v.ID, "three", time.Minute, 4); err != nil || len(c.targets) > 0 {
		t.Errorf("taken while paused: %+v, %v", c.targets, err)
	}
	cancel()
	if err := <-other; err == nil {
		t.Error("work ended without an error while paused")
	}
	w.must(r.Resume(t.Context(), 0, "bob", "go on"))
	w.must(<-ended)
	v, err := w.sessions().Session(t.Context(), v.ID)
	w.must(err)
	w.restored(p, v)
	if err := r.Pause(t.Context(), 0, "ann", "too late"); !errors.Is(err, ErrOver) {
		t.Errorf("a pause after the end: %v", err)
	}
	if paused := w.events(v, EventPaused); len(paused) != 2 {
		t.Errorf("%v", paused)
	}
}

// Rate and batch are changed while a session runs.
func testPace(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 40, 2)
	sessions, v := w.planned(p)
	for _, batch := range []int{1, 5} {
		w.must(sessions.Pace(t.Context(), v.ID, 1000, batch, "ann"))
		c, err := sessions.claim(t.Context(), v.ID, "one", time.Minute, 4)
		w.must(err)
		if len(c.targets) != batch || c.session.Rate != 1000 {
			t.Errorf("%d targets at %d, want %d at 1000", len(c.targets), c.session.Rate, batch)
		}
	}
	w.must(w.runner(p, "one").Pace(t.Context(), 0, 1000, 0, "ann")) // as it is
	for _, asked := range []struct{ rate, want int64 }{{700, 700}, {0, 700}} {
		w.expire()
		resumed, again, err := w.runner(p, "one").Start(t.Context(), Request{Who: "ann", Why: "it is too slow", Rate: asked.rate})
		if err != nil || !again || resumed.Rate != asked.want || resumed.Batch != 5 {
			t.Errorf("resumed with a rate of %d: %v, %+v, %v", asked.rate, again, resumed, err)
		}
	}
	if paced := w.events(v, EventPaced); len(paced) != 3 {
		t.Errorf("%v", paced)
	}
	w.must(sessions.Pace(t.Context(), v.ID, 0, 0, "ann"))
	w.expire()
	w.restored(p, w.work(w.runner(p, "one")))
}

// A cancelled session leaves the gate closed and no late write possible, and another one can be begun.
func testCancel(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	sessions, v := w.planned(p)
	late, err := sessions.claim(t.Context(), v.ID, "late", time.Minute, 4)
	w.must(err)
	r := w.runner(p, "one")
	w.must(r.Cancel(t.Context(), 0, "ann", "wrong server"))
	v, err = sessions.Session(t.Context(), v.ID)
	w.must(err)
	if v.State != Cancelled || v.FinishedAt.IsZero() || v.Reason != "ann: wrong server" || p.target.open || p.target.held {
		t.Errorf("%+v, open %v, held %v", v, p.target.open, p.target.held)
	}
	if _, err := p.Apply(t.Context(), 0, late.targets[0].Target, late.session.fence()); !errors.Is(err, ErrFenced) {
		t.Errorf("a late write: %v", err)
	}
	if err := r.Cancel(t.Context(), 0, "ann", "again"); !errors.Is(err, ErrOver) {
		t.Errorf("cancelled twice: %v", err)
	}
	next := w.start(r)
	ended := in(t.Context(), func(ctx context.Context) error { _, err := r.Work(ctx); return err })
	w.must(<-ended)
	next, err = sessions.Session(t.Context(), next.ID)
	w.must(err)
	w.restored(p, next)
}

// Who changes a session that is over, or another plan's, changes no other one.
func testOtherSessions(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	r := w.runner(p, "one")
	over := w.start(r)
	w.must(r.Cancel(t.Context(), over.ID, "ann", "wrong server"))
	live, other := w.start(r), w.start(w.runner(newToy("other", 4, 4), "one"))
	for name, change := range map[string]func(context.Context, int64, string, string) error{"pause": r.Pause, "resume": r.Resume, "cancel": r.Cancel} {
		for id, want := range map[int64]error{over.ID: ErrOver, other.ID: ErrNone, 1000: ErrNone} {
			if err := change(t.Context(), id, "bob", "a tab of yesterday"); !errors.Is(err, want) {
				t.Errorf("%s of session %d: %v, want %v", name, id, err, want)
			}
		}
	}
	for _, was := range []Session{live, other} {
		if is, err := w.sessions().Session(t.Context(), was.ID); err != nil || is.State != was.State || is.Epoch != was.Epoch || is.Paused {
			t.Errorf("%+v was changed to %+v, %v", was, is, err)
		}
	}
	w.must(r.Pause(t.Context(), live.ID, "ann", "look first"))
	w.must(r.Resume(t.Context(), live.ID, "ann", "go on"))
	w.must(r.Cancel(t.Context(), live.ID, "ann", "no use"))
}

// A target system that is gone, or cannot be asked, keeps nobody from cancelling.
func testCancelWithoutTarget(t *testing.T, s server) {
	w := newWorld(t, s)
	for name, harm := range map[string]func(*toy){
		"gone": func(p *toy) { p.target.wipe() },
		"mute": func(p *toy) {
			p.fail = func(call string) error {
				if call == "abandon" { // which is of SQL
					return nil
				}
				return store.Unavailable(errors.New("connection refused"))
			}
		},
	} {
		p := newToy(name, 12, 4)
		sessions, v := w.planned(p)
		harm(p)
		w.must(w.runner(p, "one").Cancel(t.Context(), 0, "ann", "no use"))
		v, err := sessions.Session(t.Context(), v.ID)
		if err != nil || v.State != Cancelled || p.target.open || p.target.held {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// The time that is left is known while something is done, and is a range.
func testProgress(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 40, 2)
	sessions, v := w.planned(p)
	progress, err := sessions.Progress(t.Context(), v.ID)
	w.must(err)
	if progress.Known || len(progress.Phases) != 4 || progress.Phases[0].Pending != 20 {
		t.Errorf("before anything is done: %+v", progress)
	}
	c, err := sessions.claim(t.Context(), v.ID, "one", time.Minute, 4)
	w.must(err)
	var results []result
	for _, one := range c.targets {
		results = append(results, result{claimed: one, state: complete, done: Done{Units: 1, Skipped: 1}})
	}
	if late, err := sessions.mark(t.Context(), c, "one", results); late != 0 || err != nil {
		t.Fatal(late, err)
	}
	progress, err = sessions.Progress(t.Context(), v.ID)
	w.must(err)
	one := progress.Phases[0]
	if !progress.Known || progress.Rate <= 0 || progress.Least <= 0 || progress.Least > progress.Left || progress.Left > progress.Most {
		t.Errorf("%+v", progress)
	}
	if one.UnitsDone != 4 || one.UnitsSkipped != 4 || one.Done != 4 || one.Pending != 16 || one.Name != "base" {
		t.Errorf("%+v", one)
	}
}
