package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/store"
)

// CheckRequest is what a verification alone is asked for.
type CheckRequest struct {
	Who, Why string
	// Correct puts right what is found. Without it nothing is written anywhere.
	Correct bool
	// Found is told of each finding, one after the other, when nothing more becomes of it; it may be nil.
	Found func(Finding)
}

// Checked is what a verification alone came to.
type Checked struct {
	// Session is the number under which corrections are kept, for [Runner.Undo]; 0 without corrections.
	Session    int64
	Generation string
	Targets    int64
	Units      int64
	// Findings are how many there are of each outcome: of what was corrected, and of what is not equal after that.
	Findings map[Outcome]int64
}

// checkName is the plan's name for verifications alone: beside a session there may be one, and they are not the plan's last session.
func checkName(plan string) string { return plan + checkSuffix }

const checkSuffix = "/verify"

// isCheck reports whether a name is that of verifications alone.
func isCheck(name string) bool { return strings.HasSuffix(name, checkSuffix) }

// Check verifies everything outside of a session, at any time, traffic or not. With corrections, what is found is kept in a session of its
// own, each target is corrected and verified again, and [Runner.Undo] can put back what was replaced. While a session of the plan is
// live nothing is corrected: that is [ErrRunning].
func (r *Runner) Check(ctx context.Context, request CheckRequest) (c Checked, err error) {
	if request.Correct && (request.Who == "" || request.Why == "") {
		return c, errors.New("a correction changes what decides: say who wants it, and why")
	}
	generation, err := r.plan.Generation(ctx)
	if err != nil {
		return c, err
	}
	if generation == "" {
		return c, fmt.Errorf("%w: the target system has no generation in all of its parts, or not the one that is believed: it was lost, is older, or is another one. Restore it if it is the right one", store.ErrLost)
	}
	k := &check{Runner: r, request: request, fence: Fence{Generation: generation}, done: Checked{Generation: generation, Findings: map[Outcome]int64{}}}
	if !request.Correct {
		err := k.targets(ctx)
		return k.done, err
	}
	err = k.recorded(ctx)
	return k.done, err
}

// check is a verification alone, under way.
type check struct {
	*Runner
	request CheckRequest
	fence   Fence
	session Session
	mu      sync.Mutex // corrections are made one target after the other
	done    Checked
}

// recorded keeps a session for what is corrected.
func (k *check) recorded(ctx context.Context) error {
	d := k.plan.Describe()
	if last, err := k.sessions.Last(ctx, d.Name); err == nil && !last.State.Over() {
		return running(last)
	} else if err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	l, err := k.alone(ctx, d)
	if err != nil {
		return err
	}
	k.session, err = k.sessions.Session(ctx, l.session)
	if err != nil {
		return err
	}
	k.done.Session = l.session
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		stop(k.keep(ctx, k.options.Lease, func(ctx context.Context) error { return l.beat(ctx, k.options.Lease) }))
	}()
	err = k.targets(ctx)
	stop(nil)
	<-beats
	state := Finished
	if err != nil {
		state = Cancelled
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.options.Lease/3)
	defer cancel()
	return errors.Join(err, l.end(end, k.session, state))
}

// targets verifies all of them, some at once.
func (k *check) targets(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(k.options.Workers)
	phase := len(k.plan.Describe().Phases)
	err := func() error {
		for after, last := "", false; !last; {
			targets, end, err := k.plan.Targets(inner, phase, after, k.options.ListAtOnce)
			if err != nil {
				return err
			}
			if len(targets) == 0 && !end {
				return fmt.Errorf("%w: the plan lists nothing after %q, and says that there is more", ErrIncomplete, after)
			}
			for _, t := range targets {
				after = t.To
				group.Go(func() error { return k.target(inner, t) })
			}
			last = end
		}
		return nil
	}()
	return errors.Join(err, group.Wait())
}

// target verifies a target, corrects what was found, and verifies it again.
func (k *check) target(ctx context.Context, t Target) error {
	found, err := k.verify(ctx, t)
	if err != nil {
		return err
	}
	if k.request.Correct && len(found) > 0 {
		corrected, err := k.correct(ctx, t, found)
		if err != nil {
			return err
		}
		if corrected > 0 {
			if found, err = k.verify(ctx, t); err != nil {
				return err
			}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done.Targets, k.done.Units = k.done.Targets+1, k.done.Units+t.Units
	for _, f := range found {
		k.tell(f)
	}
	return nil
}

// tell counts a finding of which nothing more becomes.
func (k *check) tell(f Finding) {
	k.done.Findings[f.Outcome]++
	if k.request.Found != nil {
		k.request.Found(f)
	}
}

// verify verifies a target, again while a system cannot be asked. What cannot be verified is a finding, too; but that the target system lets
// nobody look says nothing of a target.
func (k *check) verify(ctx context.Context, t Target) ([]Finding, error) {
	for attempt := 1; ; attempt++ {
		_, found, err := k.plan.Verify(ctx, t, k.fence)
		switch {
		case err == nil:
			return found, nil
		case ctx.Err() != nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrRefused):
			return nil, err
		case attempt >= k.options.Attempts && passing(err):
			return nil, err
		case attempt >= k.options.Attempts:
			return []Finding{{Kind: "target", Item: t.From, Outcome: Unreadable, Detail: err.Error()}}, nil
		}
		if !k.wait(ctx, k.options.Backoff<<min(attempt-1, 6)) {
			return nil, context.Cause(ctx)
		}
	}
}

// correct keeps what was found, corrects it, and returns how much was put right.
func (k *check) correct(ctx context.Context, t Target, found []Finding) (corrected int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.sessions.find(ctx, k.session, found); err != nil {
		return 0, err
	}
	for after := int64(0); ; {
		open, err := k.sessions.unsettled(ctx, k.session, after, correctAtOnce)
		if err != nil || len(open) == 0 {
			return corrected, err
		}
		for _, f := range open {
			after = f.ID
			done := Correction{Outcome: f.Outcome}
			if !f.Outcome.settled() {
				if done, err = k.plan.Correct(ctx, f, k.fence, k.sessions.keep(f)); err != nil {
					return corrected, err
				}
			}
			if err := k.sessions.settle(ctx, f, done); err != nil {
				return corrected, err
			}
			if done.Outcome == Corrected {
				corrected++
				k.tell(Finding{f.ID, f.Kind, f.Item, Corrected, f.Detail})
			}
		}
	}
}

// undoable returns the session whose corrections are to be undone. It has to be of the plan, and of its configuration: what was corrected, and so what was
// replaced, follows from that.
func (r *Runner) undoable(ctx context.Context, session int64) (v Session, err error) {
	d := r.plan.Describe()
	last, err := r.sessions.Last(ctx, d.Name)
	switch {
	case err == nil && !last.State.Over():
		return v, running(last)
	case err != nil && !errors.Is(err, ErrNone):
		return v, err
	}
	if session == 0 {
		v, err = r.sessions.Last(ctx, checkName(d.Name))
	} else {
		v, err = r.sessions.Session(ctx, session)
	}
	switch {
	case err != nil:
		return v, err
	case v.Plan != d.Name && v.Plan != checkName(d.Name):
		return v, fmt.Errorf("%w of plan %q with the number %d: that is one of plan %q", ErrNone, d.Name, v.ID, v.Plan)
	case v.Digest != d.Digest:
		return v, otherPlan(v, d)
	case !v.State.Over() && v.Led:
		return v, running(v) // it goes on correcting
	}
	return v, nil
}

// Undo puts back what the corrections of a session have replaced, the last first: 0 is the last verification that corrected. What was changed since
// it was corrected is left. It tells found of each, and returns how many are as they were, and how many were left. Once undone, nothing
// is undone again. A correction of which nobody has noted what became is undone where it was made, and is none where it was not. A session of another plan is
// [ErrNone], and one of another configuration [ErrOtherPlan].
func (r *Runner) Undo(ctx context.Context, session int64, found func(Finding)) (undone, left int64, err error) {
	v, err := r.undoable(ctx, session)
	if err != nil {
		return 0, 0, err
	}
	generation, err := r.plan.Generation(ctx)
	if err == nil && generation != v.Generation {
		err = fmt.Errorf("%w: session %d corrected generation %q, and the target system has %q: it was made anew since, and nothing is to be undone", ErrOver, v.ID, v.Generation, generation)
	}
	if err != nil {
		return 0, 0, err
	}
	for before := int64(1<<63 - 1); ; {
		all, err := r.sessions.corrections(ctx, v.ID, before, correctAtOnce)
		if err != nil || len(all) == 0 {
			return undone, left, err
		}
		for _, one := range all {
			before = one.ID
			done, err := r.plan.Undo(ctx, one.Finding, one.old, Fence{Generation: generation})
			if err != nil {
				return undone, left, err
			}
			if done.Outcome != Undone {
				if one.Outcome != Corrected {
					continue // it was not corrected, or is right in another way
				}
				left++
			} else if err := r.sessions.undone(ctx, one.Finding, done); err != nil {
				return undone, left, err
			} else {
				undone++
			}
			found(Finding{one.ID, one.Kind, one.Item, done.Outcome, done.Detail})
		}
	}
}
