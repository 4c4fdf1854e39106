package faulttest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/reprise-dev/reprise"
)

// deed is what an action does once it is known to run.
type deed func(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error)

var errDeed = errors.New("the action has failed")

// answering takes effect and says so.
func answering(_ context.Context, _ *reprise.Run, p *page) (reprise.Response, error) {
	return p.effect(), nil
}

// fruitless has no effect, and says so.
func fruitless(context.Context, *reprise.Run, *page) (reprise.Response, error) {
	return reprise.Response{}, reprise.NoEffect(errDeed)
}

// failing takes effect, and says that it has failed.
func failing(_ context.Context, _ *reprise.Run, p *page) (reprise.Response, error) {
	p.effect()
	p.doubtful()
	return reprise.Response{Data: []byte("evidence")}, errDeed
}

// vain has no effect, and says that it has failed.
func vain(_ context.Context, _ *reprise.Run, p *page) (reprise.Response, error) {
	p.doubtful()
	return reprise.Response{}, errDeed
}

// told is what a caller was told.
type told struct {
	verdict string // ran, replayed, or what the error says
	err     error
}

// kinds are what an error of the guard may say, and whether the action may have run before it.
var kinds = []struct {
	err error
	ran bool
}{
	{reprise.ErrUnknown, true}, {reprise.ErrNoEffect, true},
	{reprise.ErrUnavailable, false}, {reprise.ErrInProgress, false}, {reprise.ErrMismatch, false},
	{reprise.ErrExpired, false}, {reprise.ErrLost, false},
}

// start begins the part that cannot be undone.
func start(ctx context.Context, run *reprise.Run) error { return run.Start(ctx) }

// send makes one call, and judges what it is told.
func (s *stage) send(g *reprise.Guard, p *page, d deed) told { return s.sendOpening(g, p, start, d) }

// sendOpening is send, with something to do before the part that cannot be undone.
func (s *stage) sendOpening(g *reprise.Guard, p *page, opening func(context.Context, *reprise.Run) error, d deed) told {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	ran := false
	outcome, err := g.Do(ctx, p.call, func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		s.met(run.Digest(), p)
		if err := opening(ctx, run); err != nil {
			return reprise.Response{}, reprise.NoEffect(err)
		}
		ran = true
		p.begin()
		defer p.end()
		return d(ctx, run, p)
	})
	if ctx.Err() != nil && s.ctx.Err() == nil {
		s.report.breach("%s: a caller waited for %v, and would have waited for ever: %v", p.call.Key, s.patience, err)
	}
	return s.judge(p, outcome, err, ran)
}

// judge judges what a caller was told.
func (s *stage) judge(p *page, outcome reprise.Outcome, err error, ran bool) told {
	if err == nil {
		switch {
		case outcome.Replayed == outcome.Ran:
			s.report.breach("%s: an answer that is both its own and another's, or neither: %+v", p.call.Key, outcome)
		case outcome.Ran && !ran:
			s.report.breach("%s: told that its action ran, and it did not", p.call.Key)
		}
		if !outcome.Digest.IsZero() {
			s.met(outcome.Digest, p)
		}
		p.answered(outcome.Response.Data, outcome.Recorded)
		if outcome.Ran {
			return told{"ran", nil}
		}
		return told{"replayed", nil}
	}
	var fault *reprise.Error
	if !errors.As(err, &fault) {
		s.report.breach("%s: an error that is none of the guard's: %v", p.call.Key, err)
		return told{"other", err}
	}
	if !fault.Digest.IsZero() {
		s.met(fault.Digest, p)
	}
	for _, kind := range kinds {
		if fault.Kind != kind.err || fault.Kind == reprise.ErrLost && !s.report.loses {
			continue
		}
		if ran && !kind.ran {
			s.report.breach("%s: told that its action did not run, and it did: %v", p.call.Key, err)
		}
		return told{kind.err.Error(), err}
	}
	s.report.breach("%s: an error that nothing here gives reason for: %v", p.call.Key, err)
	return told{"other", err}
}

// again reports whether a client that was told this sends its call again.
func (t told) again() bool {
	return errors.Is(t.err, reprise.ErrUnavailable) || errors.Is(t.err, reprise.ErrInProgress)
}

const (
	tries      = 5
	auditTries = 30
)

// tries is how often a client sends a call, and an operator an errand. In an audit they have more patience: a store whose
// connections were all cut may notice it one by one.
func (s *stage) tries() int {
	if s.audited {
		return auditTries
	}
	return tries
}

// askJSON is ask for an action that returns a value.
func (s *stage) askJSON(g *reprise.Guard, p *page) {
	p.typed = true
	s.retry(func() told {
		ran := false
		value, err := reprise.DoJSON(s.ctx, g, p.call, func(_ context.Context, run *reprise.Run) (string, error) {
			s.met(run.Digest(), p)
			ran = true
			p.begin()
			defer p.end()
			var value string
			return value, json.Unmarshal(p.effect().Data, &value)
		})
		answer := reprise.Response{Data: strconv.AppendQuote(nil, value)}
		return s.judge(p, reprise.Outcome{Response: answer, Ran: ran, Replayed: !ran}, err, ran)
	})
}

// ask sends a call as a client does that wants to know: again while it is told to try again. What it was
// told at last is noted. The dead ask nothing.
func (s *stage) ask(g *reprise.Guard, p *page, d deed) told {
	return s.retry(func() told { return s.send(g, p, d) })
}

func (s *stage) retry(send func() told) told {
	last := s.persist(send)
	if !s.dead() {
		s.note(last.verdict)
	}
	return last
}

// persist is retry without a note.
func (s *stage) persist(send func() told) (last told) {
	for range s.tries() {
		if s.dead() {
			return last
		}
		last = send()
		if !last.again() || s.audited && errors.Is(last.err, reprise.ErrInProgress) || !pause(s.ctx, time.Millisecond) {
			break
		}
	}
	return last
}

// askEarly makes a call whose action fails before it starts.
func (s *stage) askEarly(g *reprise.Guard, p *page) told {
	return s.retry(func() told {
		outcome, err := g.Do(s.ctx, p.call, func(context.Context, *reprise.Run) (reprise.Response, error) {
			return reprise.Response{}, errDeed
		})
		return s.judge(p, outcome, err, false)
	})
}

// pause is false when the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
