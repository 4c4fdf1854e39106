package movestore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Options are how two stores are opened as one.
type Options struct {
	// From is when new keys are made in the primary store from, on the previous store's clock. All processes that
	// know the previous store alone must have ended by then: they make no record from then on. It must lie at least
	// [Notice] ahead when the first process announces it, and be the same for all. Zero is twice the notice after
	// the first process has opened both, or what is announced already.
	From time.Time
	// Ahead is the notice; zero is [Notice].
	Ahead time.Duration
}

// Store is two stores as one, while records move from the previous one to the primary one. Make one with [Open].
type Store struct {
	pair *pair
	move move

	// past says that the instant of the move has passed, once for all: a clock that is set back does not let
	// the previous store make records again.
	past atomic.Bool
	gone gone
}

// Open returns a store over two that are open, and announces the move. Close closes both; an error leaves both open.
// Errors in which errors.Is finds [ErrRefused] are final.
func Open(ctx context.Context, primary, previous store.Store, options Options) (*Store, error) {
	p, err := newPair(primary, previous)
	if err != nil {
		return nil, err
	}
	m, err := p.link(ctx)
	if err != nil {
		return nil, err
	}
	ahead := options.Ahead
	if ahead == 0 {
		ahead = Notice
	}
	from := m.at.Add(2 * ahead)
	if !options.From.IsZero() {
		from = machine.InstantOf(options.From)
	}
	if m, err = p.announce(ctx, from, ahead); err != nil {
		return nil, err
	}
	if m.from != from && !options.From.IsZero() {
		return nil, refuse("new keys are made in the new store from %v, as another process has announced, and not from %v: write that instant, or none", m.from, from)
	}
	return &Store{pair: p, move: m}, nil
}

// From returns when new keys are made in the primary store from, on the previous store's clock.
func (s *Store) From() time.Time { return s.move.from.Time() }

// Close implements [store.Store].
func (s *Store) Close() error {
	return errors.Join(s.pair.primary.Close(), s.pair.previous.Close())
}

// Apply implements [store.Store].
//
// The previous store governs the keys of which it has a record that is not fenced: its answer is the answer. That it has
// none is decided for claims under the record's lock, at a time from which on none can be made; so both are for
// good, and then the primary store decides.
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	digest := command.Target().Digest
	if s.gone.has(digest) {
		return s.pair.primary.Apply(ctx, command)
	}
	past := s.past.Load() // now: what others learn meanwhile says nothing about this reply
	reply, err := s.pair.previous.Apply(ctx, s.bounded(command, past))
	if err != nil {
		return reply, err
	}
	passed := reply.At >= s.move.from
	if passed {
		s.past.Store(true)
	}
	if !past && !passed {
		return reply, nil
	}
	final := passed && reply.Outcome == machine.Barred // before the instant another process may still make one
	if !absent(reply) {
		if final, err = s.fenced(ctx, command.Target(), reply); err != nil || !final {
			return reply, err
		}
	}
	if final { // that there is no record is for good only if it was found under the record's lock
		s.gone.add(digest)
	}
	return s.pair.primary.Apply(ctx, command)
}

// bounded returns a command that makes no record in the previous store from the instant of the move on, or none at all
// if that was past when it was sent.
func (s *Store) bounded(command machine.Command, past bool) machine.Command {
	end := s.move.from
	if past {
		end = 1
	}
	within := func(c machine.Claim) machine.Claim {
		if c.CreateBefore == 0 || end < c.CreateBefore {
			c.CreateBefore = end
		}
		return c
	}
	switch c := command.(type) {
	case machine.Claim:
		return within(c)
	case machine.Begin:
		c.Claim = within(c.Claim)
		return c
	}
	return command
}

// absent reports whether a reply says that there is no record, of a command that made or deleted none.
func absent(reply machine.Reply) bool {
	switch reply.Outcome {
	case machine.Barred, machine.NotFound, machine.AlreadyReleased:
		return reply.Revision == 0
	}
	return false
}

// fenced reports whether a reply is about a record that is fenced. Where the reply does not tell, the record does: it is
// asked for when the owner of a record is refused because it was answered by somebody else.
func (s *Store) fenced(ctx context.Context, scope machine.Scope, reply machine.Reply) (bool, error) {
	switch {
	case reply.State == machine.Abandoned:
		return reply.Reason == s.move.fenced(), nil
	case reply.Record != nil:
		return s.move.isFence(reply.Record), nil
	case reply.Outcome == machine.ReplayIncompatible && reply.Reason == "codec "+s.move.fenced():
		return true, nil
	case reply.State != machine.Completed || !tellsNothing(reply):
		return false, nil
	}
	found, err := s.pair.previous.Apply(ctx, machine.Inspect{Scope: scope})
	return err == nil && found.Record != nil && s.move.isFence(found.Record), err
}

// tellsNothing reports whether a reply about an answered record may be about one that is fenced.
func tellsNothing(reply machine.Reply) bool {
	switch reply.Outcome {
	case machine.NotOwner, machine.Stale, machine.WrongState, machine.Remembered, machine.ReplayIncompatible:
		return true
	}
	return false
}
