package restore

import (
	"context"
	"slices"
	"sync"
	"testing"
)

// deadly is a plan of which phase 1 of a unit ends the process.
type deadly struct {
	*toy
	unit string
	dies func() // the first time
	dead sync.Once
	mu   sync.Mutex
	gone bool
}

func (p *deadly) Apply(ctx context.Context, phase int, t Target, f Fence) (Done, error) {
	if phase == 1 && slices.Contains(p.in(t), p.unit) {
		p.dead.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.gone = true
			p.dies()
		})
	}
	p.mu.Lock() // nothing is done while it dies
	defer p.mu.Unlock()
	if p.gone {
		return Done{}, errKilled
	}
	return p.toy.Apply(ctx, phase, t, f)
}

// A unit whose work ends the process that does it, every time, is quarantined after some attempts, and nothing else is: neither what a worker takes
// together with it, nor what others of the process do meanwhile.
func testDeadlyUnit(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("deadly", 40, 4)
	const unit = "u00013"
	p.sick = map[string]error{unit: errKilled}
	w.start(w.runner(p, "begins"))
	deaths := 0
	for ; deaths < 20; deaths++ {
		if w.livesThrough(&deadly{toy: p, unit: unit}) {
			break
		}
		w.expire()
	}
	// So many attempts, then alone: the range, its half, and the unit so many times.
	if want := options("").Attempts + 2 + options("").Attempts; deaths != want {
		t.Errorf("%d processes have died of it, want %d", deaths, want)
	}
	v, err := w.sessions().Last(t.Context(), p.name)
	w.must(err)
	w.restored(p, v)
	all, err := w.sessions().Quarantined(t.Context(), v.ID, 0, 10)
	w.must(err)
	if len(all) != 1 || all[0].From != unit || all[0].Units != 1 {
		t.Errorf("quarantined: %+v", all)
	}
}

// livesThrough works on the session in a process of its own, and reports whether that has come to the end.
func (w *world) livesThrough(p *deadly) bool {
	w.Helper()
	sessions, err := Open(w.Context(), w.dsn, 6)
	w.must(err)
	defer func() { _ = sessions.Close() }()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	p.dies = func() {
		_ = sessions.Close() // whatever it still tries reaches nobody
		cancel()
	}
	o := options("one of many")
	o.Workers = 2
	_, err = New(sessions, p, o).Work(ctx)
	if !p.gone {
		w.must(err)
	}
	return !p.gone
}

// A suspect that comes through its trial is a target as any other, and one that is given back has been tried no more often.
func testSuspectsAreTakenAlone(t *testing.T, s server) {
	w := newWorld(t, s)
	sessions, v := w.planned(newToy("toy", 24, 4))
	take := func(wantFrom string, want, attempts int) claim {
		t.Helper()
		c, err := sessions.claim(t.Context(), v.ID, "one", options("").Lease, 2)
		w.must(err)
		if len(c.targets) != want || want > 0 && (c.targets[0].From != wantFrom || c.targets[0].attempts != attempts) {
			t.Fatalf("taken: %+v; want %d from %q, of %d attempts", c.targets, want, wantFrom, attempts)
		}
		return c
	}
	w.sql("UPDATE @restore_targets SET attempts = 2 WHERE phase = 0 AND from_key IN ('u00000', 'u00008')")
	first := take("u00000", 1, 3)
	w.must(sessions.try(t.Context(), first, first.targets[0]))
	take("u00004", 1, 1) // and none of what stands behind the next suspect
	second := take("u00008", 1, 3)
	w.must(sessions.release(t.Context(), second))
	w.expire()
	first = take("u00000", 1, 4) // tried once, and whoever did said nothing
	w.must(sessions.try(t.Context(), first, first.targets[0]))
	w.must(sessions.release(t.Context(), first))
	first = take("u00000", 1, 4)
	if n, err := sessions.mark(t.Context(), first, "one", []result{{claimed: first.targets[0], state: complete, done: Done{Units: 4}}}); n != 0 || err != nil {
		t.Errorf("marked: %d, %v", n, err)
	}
	if err := sessions.try(t.Context(), first, first.targets[0]); err == nil {
		t.Error("tried what is done")
	}
}
