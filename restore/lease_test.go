package restore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// planned begins a session and takes it to its first phase, with nobody who works on it.
func (w *world) planned(p *toy) (*Sessions, Session) {
	w.Helper()
	s := w.sessions()
	r := New(s, p, options("manager"))
	return s, w.plannedBy(r)
}

func (w *world) plannedBy(r *Runner) Session {
	w.Helper()
	v := w.start(r)
	l, ok, err := r.sessions.lead(w.Context(), v.ID, "manager", r.options.Lease)
	w.must(err)
	if !ok {
		w.Fatal("the session is managed already")
	}
	for {
		v, err = r.sessions.Session(w.Context(), v.ID)
		w.must(err)
		if v.State == Applying && v.Fenced == v.Epoch {
			break
		}
		_, err = r.step(w.Context(), l, v)
		w.must(err)
	}
	w.must(l.leave(w.Context()))
	return v
}

// What has the lowest priority is taken first.
func testPriority(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 2)
	p.lastFirst = true
	sessions, v := w.planned(p)
	w.must(sessions.Pace(t.Context(), v.ID, 0, 1, "ann"))
	var taken []string
	for range 6 {
		c, err := sessions.claim(t.Context(), v.ID, "one", time.Minute, 4)
		w.must(err)
		for _, one := range c.targets {
			taken = append(taken, one.From)
		}
	}
	if d := cmp.Diff([]string{"u00010", "u00008", "u00006", "u00004", "u00002", "u00000"}, taken); d != "" {
		t.Error(d)
	}
}

// Any number of workers that take targets at once take different ones, and all of them.
func testClaimsAreDisjoint(t *testing.T, s server) {
	w := newWorld(t, s)
	_, v := w.planned(newToy("toy", 400, 2))
	w.must(w.sessions().Pace(t.Context(), v.ID, 0, 7, "ann"))
	taken := make(chan []claimed)
	var group errgroup.Group
	for range 4 {
		sessions := w.sessions()
		group.Go(func() error {
			for {
				c, err := sessions.claim(t.Context(), v.ID, "worker", options("").withDefaults().Lease, 4)
				if err != nil || len(c.targets) == 0 {
					return err
				}
				taken <- c.targets
			}
		})
	}
	ended := in(t.Context(), func(context.Context) error { defer close(taken); return group.Wait() })
	var all []string
	for targets := range taken {
		for _, one := range targets {
			all = append(all, one.From)
		}
	}
	w.must(<-ended)
	slices.Sort(all)
	if n := len(all); n != 200 || len(slices.Compact(all)) != 200 {
		t.Errorf("%d targets were taken, %d different ones", n, len(slices.Compact(all)))
	}
}

// A worker is paused past its lease: another one takes its targets. What the first does when it goes on has no effect, in the
// target system or in SQL.
func testLateWorker(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	s1, v := w.planned(p)
	late, err := s1.claim(t.Context(), v.ID, "late", options("").Lease, 4)
	w.must(err)
	if len(late.targets) == 0 {
		t.Fatal("nothing was taken")
	}
	w.expire()
	r := w.runner(p, "other")
	w.restored(p, w.work(r))
	if _, err := p.Apply(t.Context(), 0, late.targets[0].Target, late.session.fence()); !errors.Is(err, ErrFenced) {
		t.Errorf("a late write: %v", err)
	}
	n, err := s1.mark(t.Context(), late, "late", []result{{claimed: late.targets[0], state: retryable}})
	if err != nil || n != 1 {
		t.Errorf("a late mark: %d refused, %v", n, err)
	}
	n, err = s1.mark(t.Context(), late, "late", []result{{claimed: late.targets[0], state: complete, findings: []Finding{{Kind: "unit", Item: "x", Outcome: Missing}}}})
	if err != nil || n != 1 {
		t.Errorf("a late mark with findings: %d refused, %v", n, err)
	}
	n, err = s1.mark(t.Context(), late, "late", []result{{claimed: late.targets[0], parts: []Target{{From: "a", To: "b", Units: 1}, {From: "b", To: "c", Units: 1}}}})
	if err != nil || n != 1 {
		t.Errorf("a late split: %d refused, %v", n, err)
	}
	if err := s1.renew(t.Context(), late, options("").Lease); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("a late renewal: %v", err)
	}
	progress, err := r.Status(t.Context())
	w.must(err)
	for _, one := range progress.Phases {
		if one.Targets != 3 || one.Done != 3 || one.Found != 0 {
			t.Errorf("%+v", one)
		}
	}
}

// The same within one epoch: the lease alone has ended, and another worker has taken the targets, or is done with them.
func testDeadWorker(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	s1, v := w.planned(p)
	lease := options("").Lease
	dead, err := s1.claim(t.Context(), v.ID, "dead", lease, 4)
	w.must(err)
	if again, err := s1.claim(t.Context(), v.ID, "other", lease, 4); err != nil || len(again.targets) != 0 {
		t.Fatalf("taken twice: %+v, %v", again, err)
	}
	w.expire()
	other, err := w.sessions().claim(t.Context(), v.ID, "other", lease, 4)
	w.must(err)
	if len(other.targets) != len(dead.targets) || other.targets[0].attempts != 2 {
		t.Fatalf("%+v came back", other.targets)
	}
	if err := s1.renew(t.Context(), dead, lease); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("renewed: %v", err)
	}
	for _, state := range []string{complete, retryable, failed} {
		if n, err := s1.mark(t.Context(), dead, "dead", []result{{claimed: dead.targets[0], state: state}}); err != nil || n != 1 {
			t.Errorf("marked %s: %d refused, %v", state, n, err)
		}
	}
	done := result{claimed: other.targets[0], state: complete, done: Done{Units: 4}}
	for want := range 2 { // the second time it is not the claim's any more
		if n, err := s1.mark(t.Context(), other, "other", []result{done}); err != nil || n != want {
			t.Errorf("%d refused, %v, want %d", n, err, want)
		}
	}
	phase, err := s1.phase(t.Context(), v, 0)
	w.must(err)
	if phase.Done != 1 || phase.Pending != 2 { // what a late worker has not marked it gives back
		t.Errorf("%+v", phase)
	}
}

// A manager is paused past its lease in the middle of a step. Whatever it does when it goes on is refused.
func testLateManager(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	paused, goOn := make(chan struct{}), make(chan struct{})
	first := New(w.sessions(), watched{p, func(moment string) error {
		if moment == "before open" {
			close(paused)
			<-goOn
		}
		return nil
	}}, options("first"))
	w.start(first)
	ended := in(t.Context(), func(ctx context.Context) error { _, err := first.Work(ctx); return err })
	<-paused
	w.expire()
	second := w.runner(p, "second")
	v := w.work(second)
	w.restored(p, v)
	// The gate is closed again for the next restore, before the first one comes to open it.
	v, _, err := second.Start(t.Context(), Request{Who: "ann", Why: "again", Again: true})
	w.must(err)
	if v.Epoch <= 1 {
		t.Errorf("the epoch has fallen to %d", v.Epoch)
	}
	l, ok, err := second.sessions.lead(t.Context(), v.ID, "second", second.options.Lease)
	w.must(err)
	for v.State != Planning && ok {
		v, err = second.sessions.Session(t.Context(), v.ID)
		w.must(err)
		_, err = second.step(t.Context(), l, v)
		w.must(err)
	}
	close(goOn)
	w.must(<-ended)
	p.target.mu.Lock()
	if p.target.open {
		t.Error("a late manager has opened the gate of another session")
	}
	p.target.mu.Unlock()
	w.must(l.leave(t.Context()))
	w.restored(p, w.work(second))
}

// The target system is lost again in the middle: nothing that was done before is believed.
func testLostInTheMiddle(t *testing.T, s server) {
	w := newWorld(t, s)
	for _, call := range []string{"apply 0", "apply 1", "apply 2", "verify", "clean", "open"} {
		p := newToy("lost at "+call, 12, 4)
		lost := false
		p.fail = func(c string) error {
			p.target.mu.Lock()
			done := len(p.target.applied)
			p.target.mu.Unlock()
			if c == call && !lost && done%12 != 4 { // not at the first target of a phase
				lost = true
				p.target.wipe()
			}
			return nil
		}
		r := w.runner(p, "one")
		w.start(r)
		v := w.work(r)
		w.restored(p, v)
		if lost := w.events(v, EventLost); v.Losses != 1 || len(lost) != 1 || !strings.Contains(lost[0], "void") {
			t.Errorf("%s: %d losses, %v", p.name, v.Losses, lost)
		}
	}
}

// The target system is lost after the gate was opened, and before that is noted.
func testLostAtTheEnd(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	lost := false
	r := New(w.sessions(), watched{p, func(moment string) error {
		if moment == "after open" && !lost {
			lost = true
			p.target.wipe()
			return errKilled
		}
		return nil
	}}, options("one"))
	w.start(r)
	v := w.work(r)
	w.restored(p, v)
	if v.Losses != 1 {
		t.Errorf("%d losses", v.Losses)
	}
}

// A fence that is gone, while the generation is there, is written again.
func testMissingFence(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	calls := 0
	p.fail = func(call string) error {
		if call == "apply 1" {
			if calls++; calls == 2 {
				p.target.mu.Lock()
				p.target.fence = 0
				p.target.mu.Unlock()
			}
		}
		return nil
	}
	r := w.runner(p, "one")
	w.start(r)
	w.restored(p, w.work(r))
}

// A worker that is refused waits before it tries the next target: until somebody has looked, all of them are refused.
func testRefusedWorkerWaits(t *testing.T, s server) {
	w := newWorld(t, s)
	sessions, v := w.planned(newToy("toy", 12, 4))
	c, err := sessions.claim(t.Context(), v.ID, "one", time.Minute, 4)
	w.must(err)
	worker := New(sessions, newToy("toy", 12, 4), options("one")).worker(v.ID)
	r := worker.judge(&batch{claim: c, ctx: t.Context()}, c.targets[0], Done{}, nil, ErrFenced)
	if r.state != pending || worker.pace.paused.IsZero() {
		t.Errorf("%+v, paused until %v", r, worker.pace.paused)
	}
	if v, err := sessions.Session(t.Context(), v.ID); err != nil || v.Fenced == v.Epoch {
		t.Errorf("the manager was not told: %+v, %v", v, err)
	}
}
