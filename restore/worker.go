package restore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// worker applies one batch after the other. While it does, the next one is taken and the last one is marked: neither the
// SQL server nor the target system waits for the other.
type worker struct {
	*Runner
	session int64
	pace    pace
	idle    atomic.Bool // it has found nothing to take: what it has under way may be the last
}

func (r *Runner) worker(session int64) *worker { return &worker{Runner: r, session: session} }

// batch is a claim whose lease is renewed until it is released.
type batch struct {
	claim
	ctx     context.Context // ends when the lease is lost
	release func()
	results []result
	refused error // what ends the worker
}

// run works until the session is over or the context ends, or until the target system refuses what no waiting changes.
func (w *worker) run(ctx context.Context) error {
	taken, applied := make(chan *batch), make(chan *batch)
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(taken)
		return w.take(ctx, taken)
	})
	group.Go(func() error {
		defer close(applied)
		for b := range taken {
			w.apply(ctx, b)
			applied <- b // it is marked, or given back, also when the context has ended
		}
		return nil
	})
	group.Go(func() (refused error) {
		for b := range applied {
			w.mark(ctx, b)
			b.release()
			if b.refused != nil { // no other batch is taken, and those that are come back
				refused = b.refused
				end()
			}
			if w.idle.Load() {
				w.done.ring()
			}
		}
		return refused
	})
	return group.Wait()
}

// take takes batches until the session is over or the context ends.
func (w *worker) take(ctx context.Context, taken chan<- *batch) error {
	var idle nap
	for ctx.Err() == nil {
		rung := w.moved.heard()
		c, err := w.sessions.claim(ctx, w.session, w.options.Name, w.options.Lease, w.options.Attempts)
		switch {
		case ctx.Err() != nil || err == nil && c.session.State.Over():
			return nil
		case err != nil && !passing(err):
			return err
		case err != nil:
			w.options.Log.Warn("nothing can be taken", "session", w.session, "error", err)
		}
		nothing := err != nil || len(c.targets) == 0
		if was := w.idle.Swap(nothing); nothing && !was {
			w.done.ring()
		}
		if !nothing {
			idle.over()
			taken <- w.hold(ctx, c)
		} else if !w.nap(ctx, &idle, rung) {
			return nil
		}
	}
	return nil
}

// hold keeps the lease of a claim until it is released.
func (w *worker) hold(ctx context.Context, c claim) *batch {
	held, stop := context.WithCancelCause(ctx)
	renewing, end := context.WithCancel(held)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.keep(renewing, w.options.Lease, func(ctx context.Context) error { return w.sessions.renew(ctx, c, w.options.Lease) }); err != nil {
			stop(err)
		}
	}()
	return &batch{claim: c, ctx: held, release: func() {
		end()
		<-ended
		stop(nil)
	}}
}

// apply does what is to be done with the targets of a batch. What it does not come to is given back.
func (w *worker) apply(ctx context.Context, b *batch) {
	for _, t := range b.targets {
		var done Done
		var found []Finding
		err := w.pace.wait(b.ctx, b.claim.session.Rate, t.Units)
		switch {
		case err != nil:
		case t.suspect(w.options.Attempts):
			w.try(ctx, b, t)
			b.targets, b.results = nil, nil // it is marked
			return
		default:
			w.trial.RLock()
			done, found, err = w.one(b, t)
			w.trial.RUnlock()
		}
		b.results = append(b.results, w.judge(b, t, done, found, err))
	}
}

// one applies or verifies a target.
func (w *worker) one(b *batch, t claimed) (done Done, found []Finding, err error) {
	if what := t.valid(); what != "" {
		return done, nil, fmt.Errorf("%w: the row in restore_targets says what cannot be: %s", errNoTarget, what)
	}
	if b.phase == b.claim.session.verification() {
		done, found, err = w.plan.Verify(b.ctx, t.Target, b.claim.session.fence())
	} else {
		done, err = w.plan.Apply(b.ctx, b.phase, t.Target, b.claim.session.fence())
	}
	if err == nil && done.Units+done.Skipped < t.Units {
		err = fmt.Errorf("%w: of %d units %d are done and %d skipped, without an error", ErrIncomplete, t.Units, done.Units, done.Skipped)
	}
	return done, found, err
}

// errNoTarget is the error of a target that is none.
var errNoTarget = errors.New("not a target")

// mark notes what became of a batch. What was refused is somebody else's: its result counts for nothing. When the worker has to stop,
// it is tried once, for a moment.
func (w *worker) mark(ctx context.Context, b *batch) {
	stopping := ctx.Err() != nil
	free := b.ctx
	if stopping {
		var cancel context.CancelFunc
		free, cancel = context.WithTimeout(context.WithoutCancel(ctx), w.options.Lease/3)
		defer cancel()
	}
	late, err := w.sessions.mark(free, b.claim, w.options.Name, b.results)
	repeated := false
	for !stopping && err != nil && passing(err) && w.wait(free, w.options.Poll) {
		repeated = true // it may find its own marks, and call them late
		late, err = w.sessions.mark(free, b.claim, w.options.Name, b.results)
	}
	switch {
	case err != nil:
		w.options.Log.Warn("a batch was not marked: it comes back when its lease ends", "session", w.session, "error", err)
	case late > 0 && !repeated:
		w.tell(free, EventLate, fmt.Sprintf("%d of %d targets were taken by others, or the session has another epoch: what became of them here counts for nothing", late, len(b.results)))
	default:
		w.quarantined(free, b)
	}
}

func (w *worker) quarantined(ctx context.Context, b *batch) {
	for _, r := range b.results {
		if r.state == failed {
			w.tell(ctx, EventQuarantined, fmt.Sprintf("from %q to %q in phase %d: %s", r.From, r.To, b.phase+1, r.reason))
		}
	}
}

func (w *worker) tell(ctx context.Context, kind, detail string) {
	w.options.Log.Warn("restore", "session", w.session, "event", kind, "detail", detail)
	if err := w.sessions.tell(ctx, w.session, kind, w.options.Name, detail); err != nil {
		w.options.Log.Debug("an event was not noted", "session", w.session, "error", err)
	}
}

// pace keeps a worker from doing more units a second than it may.
type pace struct {
	units  int64 // that were begun last
	begun  time.Time
	paused time.Time // until when, whatever the rate
}

// wait waits until there may be so many units more: until those before have had their time, at the rate that holds now. A pause is not
// caught up.
func (p *pace) wait(ctx context.Context, rate, units int64) error {
	still := time.Until(p.paused)
	if rate > 0 {
		still = max(still, time.Duration(float64(p.units)/float64(rate)*float64(time.Second))-time.Since(p.begun))
	}
	timer := time.NewTimer(still)
	defer timer.Stop()
	select {
	case <-timer.C:
		p.units, p.begun = units, time.Now()
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
