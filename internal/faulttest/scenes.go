package faulttest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
)

// scene is a part of the script: what callers, operators and processes do with a few keys, so that all
// scenes together send every command in every way that the guard and its operators have.
type scene struct {
	name   string
	policy reprise.Policy
	play   func(s *stage, p reprise.Policy)
	// told is what is noted when nothing goes wrong.
	told []string
}

const (
	unknown    = "outcome unknown"
	noEffect   = "no effect"
	mismatch   = "key was used for another request"
	expired    = "answered before, and the answer has expired"
	inProgress = "in progress"
)

// scenes are the script.
var scenes = [...]scene{
	{"an answer", reprise.Policy{}, playAnswer, []string{"ran", "replayed", mismatch, "ran", "replayed"}},
	{"no effect", reprise.Policy{}, playNoEffect, []string{noEffect, noEffect, "ran", "replayed"}},
	{"settled as happened", reprise.Policy{}, playSettled(failing), []string{unknown, unknown, "settled", "replayed"}},
	{"settled as not happened", reprise.Policy{}, playSettled(vain), []string{unknown, unknown, "settled", "ran"}},
	{"resolved on demand", reprise.Policy{LongestAction: time.Second}, playResolved, []string{unknown, "replayed"}},
	{"swept", reprise.Policy{LongestAction: time.Second}, playSwept, []string{unknown, unknown, "swept", "replayed", "ran"}},
	{"late start", reprise.Policy{LateStart: true}, playLateStart, []string{noEffect, "ran", "replayed"}},
	{"a claim is left", reprise.Policy{LateStart: true}, playLeftClaim, []string{"acquired", inProgress, "ran", "replayed"}},
	{"a claim is resumed", reprise.Policy{}, playResumed, []string{"acquired", "ran", "replayed"}},
	{"a claim is resumed by two", reprise.Policy{LateStart: true}, playResumedByTwo, []string{"acquired", unknown, "ran", "replayed"}},
	{"a run is left", reprise.Policy{}, playLeftRun, []string{"acquired", inProgress, unknown, "settled", "ran"}},
	{"a run is left that may rerun", reprise.Policy{Interruption: reprise.Rerun}, playLeftRerun, []string{"acquired", "ran", "replayed"}},
	{"replaced while it runs", reprise.Policy{Interruption: reprise.Rerun}, playReplaced, []string{"ran", "replayed", "replayed"}},
	{"settled while it runs", reprise.Policy{}, playSettledOwner, []string{unknown, "settled", "replayed", "replayed"}},
	{"a duplicate waits", reprise.Policy{Wait: 10 * time.Second}, playWaiting, []string{"ran", "replayed"}},
	{"renewed", reprise.Policy{Lease: 600 * time.Millisecond, CommandTimeout: 200 * time.Millisecond}, playRenewed, []string{"ran", "replayed"}},
	{"expired and purged", reprise.Policy{}, playExpired, []string{"ran", "replayed", "ran", "replayed", unknown, expired, "forgotten", "purged", "ran", "ran", unknown}},
}

// playAnswer: a call, its retry in another process, and somebody else's request under the same key.
func playAnswer(s *stage, p reprise.Policy) {
	k := s.key(p, "k")
	s.ask(s.guard(p), k, answering)
	other := s.guard(p)
	s.ask(other, k, answering)
	if k.confirmed() {
		k.call.Payload = []byte("another request")
		s.ask(other, k, answering)
		k.call.Payload = []byte("k")
	}
	typed := s.key(p, "typed")
	s.askJSON(other, typed)
	s.askJSON(other, typed)
}

func playNoEffect(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	s.ask(g, k, fruitless)
	s.ask(g, k, fruitless)
	s.ask(g, k, answering)
	s.ask(g, k, answering)
}

func playSettled(d deed) func(s *stage, p reprise.Policy) {
	return func(s *stage, p reprise.Policy) {
		g, k := s.guard(p), s.key(p, "k")
		s.ask(g, k, d)
		s.ask(g, k, answering)
		s.settle(k, "")
		s.ask(g, k, answering)
	}
}

func playResolved(s *stage, p reprise.Policy) {
	p.Resolver = s.resolver
	g, k := s.guard(p), s.key(p, "k")
	s.ask(g, k, failing)
	s.advance(lease + p.LongestAction)
	s.ask(g, k, answering)
}

func playSwept(s *stage, p reprise.Policy) {
	p.Resolver = s.resolver
	g, happened, not := s.guard(p), s.key(p, "happened"), s.key(p, "not")
	s.ask(g, happened, failing)
	s.ask(g, not, vain)
	s.advance(lease + p.LongestAction)
	s.sweep(g)
	s.ask(g, happened, answering)
	s.ask(g, not, answering)
}

// playLateStart: an action that fails before it starts leaves its claim.
func playLateStart(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	s.askEarly(g, k)
	s.ask(g, k, answering)
	s.ask(g, k, answering)
}

// playLeftClaim: a process dies before its action starts.
func playLeftClaim(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	s.claimed(g, k, false)
	s.ask(g, k, answering)
	s.advance(lease)
	s.ask(g, k, answering)
	s.ask(g, k, answering)
}

// playResumed: a process dies before its action starts, and comes back with what it retained.
func playResumed(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	if v := s.claimed(g, k, false); v != nil {
		k.call.Resume = reprise.Retained{Owner: v.Owner, Operation: v.Operation}
	}
	s.ask(g, k, answering)
	k.call.Resume = reprise.Retained{}
	s.ask(g, k, answering)
}

// playResumedByTwo: two processes come back with one claim. The one that does not get to start does not speak
// for the other.
func playResumedByTwo(s *stage, p reprise.Policy) {
	g, other, k := s.guard(p), s.guard(p), s.key(p, "k")
	if v := s.claimed(g, k, false); v != nil {
		k.call.Resume = reprise.Retained{Owner: v.Owner, Operation: v.Operation}
	}
	s.retry(func() told {
		return s.sendOpening(g, k, func(ctx context.Context, run *reprise.Run) error {
			s.retry(func() told {
				return s.sendOpening(other, k, func(ctxOther context.Context, runOther *reprise.Run) error {
					return errors.Join(run.Start(ctx), runOther.Start(ctxOther))
				}, answering)
			})
			return run.Start(ctx)
		}, answering)
	})
	k.call.Resume = reprise.Retained{}
	s.ask(other, k, answering)
}

// playLeftRun: a process dies after its action has started, and before it had an effect.
func playLeftRun(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	s.claimed(g, k, true)
	s.ask(g, k, answering)
	s.advance(lease)
	s.ask(g, k, answering)
	s.settle(k, "")
	s.ask(g, k, answering)
}

func playLeftRerun(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	s.claimed(g, k, true)
	s.advance(lease)
	s.ask(g, k, answering)
	s.ask(g, k, answering)
}

// playReplaced: the store's clock takes the key away from an action that runs, and gives it to another. The
// first hands out the other's answer.
func playReplaced(s *stage, p reprise.Policy) {
	slow, quick, k := s.guard(p), s.guard(p), s.key(p, "k")
	s.ask(slow, k, func(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error) {
		answer := p.effect()
		s.advance(lease)
		s.ask(quick, k, answering)
		return answer, nil
	})
	s.ask(slow, k, answering)
}

// playSettledOwner: an action had its effect, and somebody settles that before it has said so. It hands out
// what was settled, and not what it has itself.
func playSettledOwner(s *stage, p reprise.Policy) {
	slow, k := s.guard(p), s.key(p, "k")
	other := s.guard(p)
	s.ask(slow, k, func(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error) {
		answer := p.effect()
		p.doubtful()
		s.advance(lease)
		s.ask(other, k, answering)
		s.settle(k, "what the operator knows of "+k.call.Key)
		return answer, nil
	})
	s.ask(other, k, answering)
}

// playWaiting: a duplicate arrives while the action runs, and waits for its answer.
func playWaiting(s *stage, p reprise.Policy) {
	g, other, k := s.guard(p), s.guard(p), s.key(p, "k")
	waits := s.history.await(func(x exchange) bool {
		return x.err == nil && x.reply.Outcome == machine.InProgress && x.reply.State == machine.Executing
	})
	var duplicate sync.WaitGroup
	var second told
	s.ask(g, k, func(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error) {
		gone := make(chan struct{})
		duplicate.Go(func() {
			defer close(gone)
			second = s.persist(func() told { return s.send(other, k, answering) })
		})
		select {
		case <-waits:
		case <-gone:
		}
		return answering(ctx, run, p)
	})
	duplicate.Wait()
	s.note(second.verdict)
}

// playRenewed: an action that goes on until its lease was renewed.
func playRenewed(s *stage, p reprise.Policy) {
	g, k := s.guard(p), s.key(p, "k")
	renewed := s.history.await(func(x exchange) bool { return x.err == nil && x.reply.Outcome == machine.Renewed })
	s.ask(g, k, func(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error) {
		select {
		case <-renewed:
			return answering(ctx, run, p)
		case <-ctx.Done(): // the lease is lost
			return vain(ctx, run, p)
		}
	})
	s.ask(g, k, answering)
}

// playExpired: answers expire, their keys are forgotten, one by one or in bulk, and are new again.
func playExpired(s *stage, p reprise.Policy) {
	g, one, other := s.guard(p), s.key(p, "one"), s.key(p, "other")
	for _, k := range []*page{one, other} {
		s.ask(g, k, answering)
		s.ask(g, k, answering)
		if s.dead() || !k.confirmed() {
			return // there is nothing to expire
		}
	}
	stuck := s.key(p, "stuck") // what is unknown does not expire
	s.ask(g, stuck, failing)
	s.advance(day)
	one.expired()
	other.expired()
	s.ask(g, one, answering)
	if s.dead() {
		return
	}
	s.advance(6 * day)
	one.forgotten()
	other.forgotten()
	s.forget(g, one)
	s.purge()
	s.ask(g, one, answering)
	s.ask(g, other, answering)
	s.ask(g, stuck, answering)
}
