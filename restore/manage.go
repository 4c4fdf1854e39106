package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// manage manages a session until it is over, or waits for the process that does. It returns nil when the session is
// over or the context has ended.
func (r *Runner) manage(ctx context.Context, session int64) error {
	for {
		v, err := r.sessions.Session(ctx, session)
		var l *lead
		ok := false
		switch {
		case err == nil && v.State.Over():
			return nil
		case err == nil && !v.Led:
			l, ok, err = r.sessions.lead(ctx, session, r.options.Name, r.options.Lease)
		}
		if ok && err == nil {
			if err = r.managed(ctx, l); err == nil || ctx.Err() == nil && !errors.Is(err, ErrLeaseLost) && !passing(err) {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !passing(err) && !errors.Is(err, ErrLeaseLost):
			return err
		case err != nil:
			r.options.Log.Warn("the restore waits", "session", session, "error", err)
		}
		if !r.wait(ctx, r.options.Poll) {
			return nil
		}
	}
}

// managed manages a session for as long as its lease is held, and gives it back.
func (r *Runner) managed(ctx context.Context, l *lead) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		stop(r.keep(ctx, r.options.Lease, func(ctx context.Context) error { return l.beat(ctx, r.options.Lease) }))
	}()
	err := r.steps(ctx, l)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrLeaseLost) {
		err = cause
	}
	stop(nil)
	<-beats
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.options.Lease/3)
	defer cancel()
	if failed := l.leave(leave); failed != nil { // it ends by itself
		r.options.Log.Debug("the lease was not given back", "session", l.session, "error", failed)
	}
	return err
}

// errSlow is why a lease was not renewed of which no renewal has failed.
var errSlow = errors.New("this process was stopped, or had too much to do")

// keep renews a lease at a third of its length, and returns [ErrLeaseLost] as soon as it cannot be shown to be held any
// more: it was refused, or not confirmed in time, counted from before it was sent. It returns nil when the context ends.
func (r *Runner) keep(ctx context.Context, lease time.Duration, renew func(context.Context) error) error {
	until := time.Now().Add(lease)
	var err error
	for r.wait(ctx, min(lease/3, time.Until(until))) {
		sent := time.Now()
		if !sent.Before(until) {
			return fmt.Errorf("%w: it was not renewed in time: %w", ErrLeaseLost, cmp.Or(err, errSlow))
		}
		each, cancel := context.WithDeadline(ctx, until)
		err = renew(each)
		cancel()
		switch {
		case err == nil:
			until = sent.Add(lease)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLeaseLost):
			return err
		}
	}
	return nil
}

// steps does one step after the other until the session is over. Each looks at the session anew.
func (r *Runner) steps(ctx context.Context, l *lead) error {
	told, idle := "", nap{}
	for {
		rung := r.done.heard()
		v, err := r.sessions.Session(ctx, l.session)
		if err == nil && v.State.Over() {
			return nil
		}
		moved := false
		if err == nil {
			moved, err = r.step(ctx, l, v)
		}
		if ctx.Err() != nil || errors.Is(err, ErrLeaseLost) {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil && err.Error() != told {
			told = err.Error()
			r.trouble(ctx, l, v, err)
		}
		if err == nil && v.Trouble != "" && !v.Paused { // a pause looks at nothing
			told = ""
			r.calm(ctx, l)
		}
		switch {
		case errors.Is(err, ErrFenced): // by whom is found out in the next round: the fence is written again
			if failed := r.sessions.unfence(ctx, v); failed != nil {
				return failed
			}
		case err != nil && !passing(err):
			return err
		case moved && err == nil:
			told = ""
		}
		if moved && err == nil {
			r.moved.ring()
			idle.over()
		} else if !r.nap(ctx, &idle, rung) {
			return ctx.Err()
		}
	}
}

// trouble says what a step waits for, or failed with.
func (r *Runner) trouble(ctx context.Context, l *lead, v Session, cause error) {
	r.options.Log.Warn("the restore does not go on", "session", l.session, "state", string(v.State), "error", cause)
	if err := l.trouble(ctx, cause); err != nil {
		r.options.Log.Debug("the trouble was not noted", "session", l.session, "error", err)
	}
}

// calm says that nothing is waited for any more: the step may go on for long.
func (r *Runner) calm(ctx context.Context, l *lead) {
	if err := l.calm(ctx); err != nil {
		r.options.Log.Debug("that the trouble is over was not noted", "session", l.session, "error", err)
	}
}

// step does what is to be done in a session's state. It returns whether the session is somewhere else now.
func (r *Runner) step(ctx context.Context, l *lead, v Session) (moved bool, err error) {
	if v.Paused {
		return false, nil
	}
	if v.State.renewed() {
		if lost, err := r.look(ctx, l, v); err != nil || lost {
			return lost, err
		}
		if v.Fenced != v.Epoch {
			return true, r.fence(ctx, l, v)
		}
	}
	switch v.State {
	case Closing:
		return true, r.after(ctx, l, v, next{state: Draining}, r.plan.CloseGate(ctx, v.fence()))
	case Draining:
		return true, r.after(ctx, l, v, next{state: Renewing}, r.plan.Drain(ctx, v.fence()))
	case Renewing:
		return true, r.renew(ctx, l, v)
	case Planning:
		return true, r.list(ctx, l, v)
	case Applying:
		return r.applying(ctx, l, v)
	case Verifying:
		return r.verifying(ctx, l, v)
	case Correcting:
		return true, r.correct(ctx, l, v)
	case Cleaning:
		return true, r.after(ctx, l, v, next{state: Reopening, raise: true}, r.plan.CleanUp(ctx, v.fence()))
	case Reopening:
		if err := r.plan.OpenGate(ctx, v.fence()); err != nil {
			return false, err
		}
		return true, l.end(ctx, v, Finished)
	case Cancelling:
		return true, r.abandon(ctx, l, v)
	}
	return false, fmt.Errorf("session %d is in the state %q, which this version does not know: upgrade this program", v.ID, v.State)
}

// after goes on to the next state if what was to be done in this one is done.
func (r *Runner) after(ctx context.Context, l *lead, v Session, to next, err error) error {
	if err != nil {
		return err
	}
	to.phase, to.round = v.Phase, v.Round
	return l.step(ctx, v, to)
}

// look asks the target system for its generation. Another one than the session's says that it was lost again: everything is done
// anew, if it is not another system that is asked.
func (r *Runner) look(ctx context.Context, l *lead, v Session) (lost bool, err error) {
	generation, err := r.plan.Generation(ctx)
	if err != nil || generation == v.Generation {
		return false, err
	}
	if err := r.plan.Ready(ctx); err != nil {
		return false, err
	}
	return true, l.lose(ctx, v, generation)
}

// fence shuts out everything that was begun under an older epoch.
func (r *Runner) fence(ctx context.Context, l *lead, v Session) error {
	if err := r.plan.WriteFence(ctx, v.fence()); err != nil {
		return err
	}
	return l.fenced(ctx, v)
}

// renew begins the session's generation. Which one it is, is written down first: whoever goes on here begins the same one.
func (r *Runner) renew(ctx context.Context, l *lead, v Session) error {
	if v.Generation == "" {
		v.Generation = newGeneration()
		if err := l.generation(ctx, v, v.Generation); err != nil {
			return err
		}
	}
	if err := r.plan.Renew(ctx, v.fence()); err != nil {
		return err
	}
	if err := r.fence(ctx, l, v); err != nil {
		return err
	}
	if err := l.void(ctx, v); err != nil {
		return err
	}
	return l.step(ctx, v, next{state: Planning, round: r.before(v.Round)})
}

// before is the round before the first one of a life that begins after so many rounds. Findings of another life are of rounds of their
// own, and rounds of another life do not count against those after which a person has to look.
func (r *Runner) before(rounds int) int {
	if rounds == 0 {
		return 0
	}
	return (rounds/r.options.Rounds + 1) * r.options.Rounds
}

// abandon shuts out everything that is late, and lets those go on that the gate held. A target system that is gone, or cannot
// be asked, keeps nobody from cancelling: the gate stays closed, and the next session makes void whatever is written meanwhile.
func (r *Runner) abandon(ctx context.Context, l *lead, v Session) error {
	if v.Generation != "" { // else nothing was written
		short, cancel := context.WithTimeout(ctx, r.options.Lease/3)
		err := r.plan.WriteFence(short, v.fence())
		cancel()
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			r.trouble(ctx, l, v, fmt.Errorf("cancelled, and late writes are not shut out: %w", err))
		}
	}
	if err := r.plan.Abandon(ctx, v.fence()); err != nil {
		return err
	}
	return l.end(ctx, v, Cancelled)
}
