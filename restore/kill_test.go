package restore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/store"
)

// watched calls at before and after everything that a plan does. An error of it takes the place of the plan's.
type watched struct {
	Plan
	at func(moment string) error
}

func (w watched) around(call string, do func() error) error {
	if err := w.at("before " + call); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return w.at("after " + call)
}

func (w watched) CloseGate(ctx context.Context, f Fence) error {
	return w.around("close", func() error { return w.Plan.CloseGate(ctx, f) })
}

func (w watched) Drain(ctx context.Context, f Fence) error {
	return w.around("drain", func() error { return w.Plan.Drain(ctx, f) })
}

func (w watched) Renew(ctx context.Context, f Fence) error {
	return w.around("renew", func() error { return w.Plan.Renew(ctx, f) })
}

func (w watched) WriteFence(ctx context.Context, f Fence) error {
	return w.around("fence", func() error { return w.Plan.WriteFence(ctx, f) })
}

func (w watched) Expect(ctx context.Context, phase int) (n int64, err error) {
	return n, w.around("expect", func() error {
		n, err = w.Plan.Expect(ctx, phase)
		return err
	})
}

func (w watched) Targets(ctx context.Context, phase int, after string, limit int) (all []Target, last bool, err error) {
	return all, last, w.around("targets", func() error {
		all, last, err = w.Plan.Targets(ctx, phase, after, limit)
		return err
	})
}

func (w watched) Apply(ctx context.Context, phase int, t Target, f Fence) (d Done, err error) {
	return d, w.around("apply", func() error {
		d, err = w.Plan.Apply(ctx, phase, t, f)
		return err
	})
}

func (w watched) Verify(ctx context.Context, t Target, f Fence) (d Done, found []Finding, err error) {
	err = w.around("verify", func() error {
		d, found, err = w.Plan.Verify(ctx, t, f)
		return err
	})
	return d, found, err
}

func (w watched) Correct(ctx context.Context, found Finding, f Fence, keep Keep) (c Correction, err error) {
	err = w.around("correct", func() error {
		c, err = w.Plan.Correct(ctx, found, f, keep)
		return err
	})
	return c, err
}

func (w watched) CleanUp(ctx context.Context, f Fence) error {
	return w.around("clean", func() error { return w.Plan.CleanUp(ctx, f) })
}

func (w watched) OpenGate(ctx context.Context, f Fence) error {
	return w.around("open", func() error { return w.Plan.OpenGate(ctx, f) })
}

var errKilled = store.Unavailable(errors.New("the process was killed"))

// A process is killed before and after everything that it does, so inside of each step and between each two. It leaves its
// leases behind; another process goes on, and comes to the same end. In an ordinary run one of seven moments is tried.
func testKilledAnywhere(t *testing.T, s server) {
	w := newWorld(t, s)
	var mu sync.Mutex
	moments := 0
	undisturbed := newToy("undisturbed", 8, 4)
	undisturbed.wrong = "u00007"
	r := New(w.sessions(), watched{undisturbed, func(string) error {
		mu.Lock()
		defer mu.Unlock()
		moments++
		return nil
	}}, options("first"))
	w.start(r)
	w.restored(undisturbed, w.work(r))
	if moments < 50 {
		t.Fatalf("only %d moments: the plan is not called as it should be", moments)
	}
	others := w.sessions() // of all processes that go on
	step := 1
	if !proving() {
		step = 7
	}
	for moment := rand.IntN(step); moment < moments; moment += step {
		t.Run(fmt.Sprint(moment), func(t *testing.T) {
			t.Parallel()
			w := &world{t, w.server, w.dsn}
			w.goesOnAfter(moment, others)
		})
	}
}

func (w *world) goesOnAfter(moment int, others *Sessions) {
	w.Helper()
	p := newToy(fmt.Sprintf("killed-%d", moment), 8, 4)
	p.wrong = "u00007"
	where := w.killAt(p, moment)
	w.Logf("killed at moment %d, %s", moment, where)
	w.sql("UPDATE @restore_sessions SET lease_until = 0 WHERE plan = '" + p.name + "'")
	w.sql("UPDATE @restore_targets SET available_at = 0 WHERE state IN ('processing', 'retryable') AND session IN (SELECT id FROM @restore_sessions WHERE plan = '" + p.name + "')")
	second := New(others, p, options("second"))
	_, resumed, err := second.Start(w.Context(), request()) // the same command goes on
	if errors.Is(err, ErrComplete) && where == "" {
		return // it came to its end before that moment
	}
	w.must(err)
	if !resumed {
		w.Fatal("another session was begun")
	}
	v := w.work(second)
	if v.Losses > 0 {
		w.Error("something was taken for lost")
	}
	w.restored(p, v)
	if _, err := second.Work(w.Context()); !errors.Is(err, ErrOver) {
		w.Fatalf("working again after the end: %v", err)
	}
}

// killAt begins a session and kills the process at a moment. It returns which that was, and nothing if the session was over
// before.
func (w *world) killAt(p *toy, moment int) (where string) {
	w.Helper()
	sessions, err := Open(w.Context(), w.dsn, 4)
	w.must(err)
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	n := 0
	var mu sync.Mutex
	r := New(sessions, watched{p, func(at string) error {
		mu.Lock()
		defer mu.Unlock()
		n++
		switch {
		case n-1 < moment:
			return nil
		case n-1 == moment:
			where = at
			_ = sessions.Close() // whatever it still tries reaches nobody
			cancel()
		}
		return errKilled
	}}, options("first"))
	w.start(r)
	if _, err := r.Work(ctx); err == nil && where != "" {
		w.Fatalf("killed %s, and Work returned no error", where)
	}
	_ = sessions.Close()
	return where
}

// proving reports whether tests are to be long.
func proving() bool { return os.Getenv("REPRISE_PROVE") == "1" }
