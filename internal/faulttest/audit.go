package faulttest

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// audit asks for every key of a run once more, when nothing goes wrong any more, as clients do that were
// not told yet: on the handle that was broken, which must work again, or, if its process is dead, on that of
// the next one. Afterwards each key has had its effect once, and its answer. With late, something that was
// sent may be done later than anybody reckons with.
func (s *stage) audit(policy reprise.Policy, p *troupe, dead, late bool) {
	slow := s.timedOut()
	s.fault, s.subject, s.audited = 0, p.subject, true
	p.subject.Wire.Break(0, 0)
	s.store = &recorder{inner: p.handle, history: s.history, report: s.report}
	policy.Lease, policy.CommandTimeout, policy.Wait = 0, 0, 0
	g := s.guard(policy)
	for _, k := range s.pages {
		s.auditKey(g, k, late || dead || slow[k])
	}
	s.leave()
	truth := &recorder{inner: p.truth, history: s.history, report: s.report}
	for digest := range s.digests { // the last word on each record belongs to the history
		truth.look(s.ctx, machine.Scope{Operation: operation, SecretVersion: 1, Digest: digest})
	}
	s.history.check(s.report, late)
}

// timedOut returns the keys of which a claim was not answered in time. It may be done later than anybody
// reckons with.
func (s *stage) timedOut() map[*page]bool {
	slow := map[*page]bool{}
	for _, x := range s.history.exchanges() {
		if kind := x.command.Kind(); kind == machine.KindClaim || kind == machine.KindBegin {
			if errors.Is(x.err, store.ErrIndeterminate) && errors.Is(x.err, context.DeadlineExceeded) {
				slow[s.pageOf(x.command.Target().Digest)] = true
			}
		}
	}
	return slow
}

// auditKey asks for one key. If left is set, what was sent for it may have been done by somebody who is
// not there any more, so that it may be unknown although no action has run.
func (s *stage) auditKey(g *reprise.Guard, p *page, left bool) {
	given, unsure := p.given, p.given != nil && !p.sure
	last := s.ask(g, p, answering)
	if errors.Is(last.err, reprise.ErrInProgress) {
		s.advance(lease) // whoever holds it is not there any more
		last = s.ask(g, p, answering)
	}
	if errors.Is(last.err, reprise.ErrUnknown) {
		if !p.doubt && !left {
			s.report.breach("%s: unknown, and nothing happened that nobody could know of: %v", p.call.Key, last.err)
		}
		if given != nil && !(left && unsure) {
			s.report.breach("%s: unknown after the answer %q was given", p.call.Key, given)
		}
		s.settle(p, "")
		last = s.ask(g, p, answering)
	}
	if p.past && errors.Is(last.err, reprise.ErrExpired) {
		return
	}
	if last.err != nil {
		s.report.breach("%s: no answer when nothing goes wrong any more: %v", p.call.Key, last.err)
		return
	}
	if last = s.ask(g, p, answering); last.verdict != "replayed" {
		s.report.breach("%s: an answer is not replayed: %s %v", p.call.Key, last.verdict, last.err)
	}
	if p.effects != 1 && !p.rerun {
		s.report.breach("%s: %d effects", p.call.Key, p.effects)
	}
}
