package restore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

func newGeneration() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return hex.EncodeToString(bytes[:])
}

// list lists the targets of all phases and of verification, so that it is known from the beginning how much there is. A list that
// stopped is gone on with where it stopped.
func (r *Runner) list(ctx context.Context, l *lead, v Session) error {
	names := slices.Concat(r.plan.Describe().Phases, []string{"verification"})
	for number, name := range names {
		if err := r.listPhase(ctx, l, v, number, name); err != nil {
			return err
		}
	}
	first := next{state: Applying, round: v.Round, raise: true}
	if v.Phases == 0 {
		first = next{state: Verifying, round: v.Round + 1, raise: true}
	}
	first = first.at(v)
	return l.step(ctx, v, first, l.beginning(v, first.phase))
}

func (r *Runner) listPhase(ctx context.Context, l *lead, v Session, number int, name string) error {
	p, err := r.sessions.phase(ctx, v, number)
	if errors.Is(err, ErrIncomplete) {
		units, err := r.plan.Expect(ctx, number)
		if err != nil {
			return err
		}
		if err := l.expect(ctx, v, number, name, units); err != nil {
			return err
		}
	}
	if p, err = r.sessions.phase(ctx, v, number); err != nil {
		return err
	}
	for !p.Complete {
		targets, last, err := r.plan.Targets(ctx, number, p.listed, r.options.ListAtOnce)
		if err != nil {
			return err
		}
		if err := checkList(p, targets, last); err != nil {
			return err
		}
		if err := l.list(ctx, v, &p, targets, last); err != nil {
			return err
		}
	}
	if p.Units < p.Expected {
		return fmt.Errorf("%w: phase %s has %d units, and its targets %d", ErrIncomplete, p.Name, p.Expected, p.Units)
	}
	return nil
}

// checkList says what is wrong with a list of targets after those that are there.
func checkList(p Phase, targets []Target, last bool) error {
	at := p.listed
	for i, t := range targets {
		if what := t.valid(); what != "" {
			return fmt.Errorf("the plan lists a target from %q to %q in phase %s that cannot be: %s", t.From, t.To, p.Name, what)
		}
		if t.From < at || t.To == "" && (i < len(targets)-1 || !last) {
			return fmt.Errorf("the plan lists a target from %q to %q in phase %s that has units of another one", t.From, t.To, p.Name)
		}
		at = t.To
	}
	if len(targets) == 0 && !last {
		return fmt.Errorf("%w: the plan lists nothing after %q in phase %s, and says that there is more", ErrIncomplete, p.listed, p.Name)
	}
	return nil
}

// applying looks whether the phase is complete, and goes on to the next one.
func (r *Runner) applying(ctx context.Context, l *lead, v Session) (moved bool, err error) {
	p, err := r.through(ctx, v)
	if err != nil || p == nil {
		return false, err
	}
	to := next{state: Applying, phase: v.Phase + 1, round: v.Round, raise: true}
	if to.phase == v.Phases {
		to = next{state: Verifying, round: v.Round + 1, raise: true}
	}
	to = to.at(v)
	return true, l.step(ctx, v, to, l.ending(v, p.Number), l.beginning(v, to.phase))
}

// at gives verification the number of its phase.
func (n next) at(v Session) next {
	if n.state == Verifying {
		n.phase = v.verification()
	}
	return n
}

// through returns the session's phase if nothing of it is left to do, and nil while there is. That nothing is left is no proof that all
// was done: it is counted.
func (r *Runner) through(ctx context.Context, v Session) (*Phase, error) {
	worked, err := r.sessions.worked(ctx, v)
	if err != nil || !worked {
		return nil, err
	}
	p, err := r.sessions.phase(ctx, v, v.step())
	if err != nil {
		return nil, err
	}
	if p.open() > 0 {
		return nil, nil
	}
	return &p, p.complete()
}

// verifying looks whether everything is verified. Where all is equal, or belongs to what is quarantined, the session goes on; what is
// not is corrected, so many times.
func (r *Runner) verifying(ctx context.Context, l *lead, v Session) (moved bool, err error) {
	p, err := r.through(ctx, v)
	if err != nil || p == nil {
		return false, err
	}
	wrong, err := r.sessions.wrong(ctx, v)
	if err != nil {
		return false, err
	}
	switch {
	case wrong == 0 && p.Failed == 0:
		return true, l.step(ctx, v, next{state: Cleaning, phase: v.Phase, round: v.Round, raise: true}, l.ending(v, p.Number))
	case p.Failed > 0 || v.Round%r.options.Rounds == 0:
		why := fmt.Sprintf("verification has found %d items that are not right, and %d targets that cannot be verified, in round %d: look at them; resuming verifies them again", wrong, p.Failed, v.Round)
		return true, l.stop(ctx, v, why)
	}
	return true, l.step(ctx, v, next{state: Correcting, phase: v.Phase, round: v.Round, raise: true})
}

const correctAtOnce = 500

// correct puts right what was found in this round, and has it verified again.
func (r *Runner) correct(ctx context.Context, l *lead, v Session) error {
	for after := int64(0); ; {
		found, err := r.sessions.unsettled(ctx, v, after, correctAtOnce)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return l.again(ctx, v)
		}
		for _, f := range found {
			after = f.ID
			done := Correction{Outcome: f.Outcome}
			if !f.Outcome.settled() {
				if done, err = r.plan.Correct(ctx, f, v.fence(), r.sessions.keep(f)); err != nil {
					return err
				}
			}
			if err := r.sessions.settle(ctx, f, done); err != nil {
				return err
			}
		}
	}
}
