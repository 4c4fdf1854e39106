package faulttest

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What operators and resolvers do. They tell the truth: they know the pages.

func (s *stage) operator() *admin.Service {
	return admin.New(s.store, admin.Options{Timeout: s.timeout(), Tries: 2, Batch: 10})
}

// settle looks for a key among what is unknown, and decides it: by what is true, or by an answer of the
// operator's own if the effect has happened. It does so until the record is decided.
func (s *stage) settle(p *page, own string) {
	operator := s.operator()
	for range s.tries() {
		if s.dead() {
			return
		}
		record, found := s.find(operator, p)
		if !found {
			pause(s.ctx, time.Millisecond)
			continue
		}
		decision := admin.Decision{Revision: record.Revision, Who: "operator", Why: "looked into the books"}
		decision.Digest, _ = machine.ParseDigest(record.Digest) // it was printed by admin
		answer, happened := p.truth()
		if decision.Completed = happened; happened {
			if own != "" {
				answer = []byte(own)
				p.settle(answer)
			}
			decision.Response = reprise.Response{Data: answer}.Record()
		}
		_, err := operator.Settle(s.ctx, decision)
		switch {
		case err == nil, errors.Is(err, admin.ErrStale), errors.Is(err, admin.ErrWrongState):
			s.note("settled")
			return
		default:
			s.judgeErrand("settle", err)
		}
	}
}

// find lists what is unknown, in small pages, and returns the record of a key.
func (s *stage) find(operator *admin.Service, p *page) (admin.Record, bool) {
	query := admin.Query{States: []machine.State{machine.Abandoned}, Limit: 100}
	for {
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout())
		page, err := operator.List(ctx, query)
		cancel()
		if err != nil {
			s.judgeErrand("list", err)
			return admin.Record{}, false
		}
		for _, r := range page.Records {
			if digest, _ := machine.ParseDigest(r.Digest); s.pageOf(digest) == p {
				return r, true
			}
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			return admin.Record{}, false
		}
	}
}

// judgeErrand judges the error of something that is done beside the commands.
func (s *stage) judgeErrand(what string, err error) {
	for _, known := range vocabulary {
		if errors.Is(err, known) {
			return
		}
	}
	s.report.breach("%s: an error that does not say what is known: %v", what, err)
}

// resolver tells the truth about an operation.
func (s *stage) resolver(_ context.Context, u reprise.UnknownOperation) (reprise.Resolution, error) {
	p := s.pageOf(u.Digest)
	if p == nil {
		return reprise.StillUnknown(), nil // of another run on the same store
	}
	if answer, happened := p.truth(); happened {
		return reprise.Happened(reprise.Response{Data: answer}, "it is in the books"), nil
	}
	return reprise.DidNotHappen("it is not in the books"), nil
}

// sweep lets a guard's resolver look at everything that is unknown.
func (s *stage) sweep(g *reprise.Guard) {
	for range s.tries() {
		if s.dead() {
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout())
		_, err := g.Sweep(ctx)
		cancel()
		if err == nil {
			s.note("swept")
			return
		}
		if !errors.Is(err, reprise.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			s.report.breach("sweep: %v", err)
		}
	}
}

// purge deletes what is over, until nothing of it is left.
func (s *stage) purge() {
	operator := s.operator()
	for range s.tries() {
		if s.dead() {
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout())
		_, err := operator.Purge(ctx, nil)
		if err == nil {
			var stats admin.Stats
			if stats, err = operator.Stats(ctx); err == nil && stats.Due == 0 {
				s.note("purged")
				cancel()
				return
			}
		}
		cancel()
		if err != nil {
			s.judgeErrand("purge", err)
		}
	}
}

// forget deletes one record that is over.
func (s *stage) forget(g *reprise.Guard, p *page) {
	v := s.prepare(g, p)
	if v == nil {
		return
	}
	reply, ok := s.apply(machine.Forget{Scope: v.Candidates[0].Scope})
	if reply.Outcome == machine.NotFound && s.subject.Fades {
		reply.Outcome = machine.Forgotten // by itself
	}
	if ok {
		s.note(reply.Outcome.String())
	}
}

// claimed makes another process claim a key, and start it if it is to begin, and die.
func (s *stage) claimed(g *reprise.Guard, p *page, begin bool) *store.Invocation {
	v := s.prepare(g, p)
	if v == nil {
		return nil
	}
	var c machine.Command = v.Claim(0, 0)
	if begin {
		c = v.Begin(0, 0)
		p.doubtful()
	}
	if reply, ok := s.apply(c); ok {
		s.note(reply.Outcome.String())
	}
	return v
}

const day = 24 * time.Hour
