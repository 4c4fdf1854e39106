package restore

import (
	"context"
	"errors"
	"fmt"
)

// alone begins the session of a verification, and leads it. One whose process died is ended first, whatever it was begun with: nobody goes on
// with it, and what it has corrected can be undone.
func (k *check) alone(ctx context.Context, d Description) (*lead, error) {
	d.Name, d.Phases = checkName(d.Name), nil
	request := Request{Who: k.request.Who, Why: k.request.Why, Again: true}
	for range 2 {
		if err := k.endDead(ctx, d.Name); err != nil {
			return nil, err
		}
		v, resumed, err := k.sessions.begin(ctx, d, k.options.Program, request, func(Session) (bool, error) { return false, nil })
		if resumed && (err == nil || errors.Is(err, ErrOtherPlan)) {
			continue // another process has begun one in between
		}
		if err != nil {
			return nil, err
		}
		l, v, err := k.take(ctx, v)
		if err != nil {
			return nil, err
		}
		return l, k.begin(ctx, l, v)
	}
	return nil, fmt.Errorf("%w: others verify at the same time: try again", ErrRunning)
}

// endDead ends the last verification if it is live and nobody leads it.
func (k *check) endDead(ctx context.Context, name string) error {
	last, err := k.sessions.Last(ctx, name)
	switch {
	case errors.Is(err, ErrNone):
		return nil
	case err != nil:
		return err
	case last.State.Over():
		return nil
	}
	l, last, err := k.take(ctx, last)
	if err != nil {
		return err
	}
	return l.end(ctx, last, Cancelled)
}

// take leads a session that nobody leads, and returns it as it is then.
func (k *check) take(ctx context.Context, v Session) (*lead, Session, error) {
	l, ok, err := k.sessions.lead(ctx, v.ID, k.options.Name, k.options.Lease)
	if err == nil && !ok {
		err = running(v)
	}
	if err != nil {
		return nil, v, err
	}
	v, err = k.sessions.Session(ctx, v.ID)
	return l, v, err
}

// begin takes the session to where verification is, with the generation that is there.
func (k *check) begin(ctx context.Context, l *lead, v Session) error {
	if err := l.step(ctx, v, next{state: Renewing}); err != nil {
		return err
	}
	v.State = Renewing
	if err := l.generation(ctx, v, k.fence.Generation); err != nil {
		return err
	}
	return l.step(ctx, v, next{state: Verifying, round: 1})
}
