package redisstore

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// anyBirth stands for the birth of a record of which only the server will know it: instants are stored as
// counted from it.
const anyBirth = machine.Instant(1) << 50

// fresh is what a claim makes where there is no record.
type fresh struct {
	record *machine.Record
	reply  machine.Reply
	packed []byte
	// before and from bound when it is made; zero is no bound.
	before, from machine.Instant
}

// bounded reports whether only the server's time can tell whether it is made.
func (f *fresh) bounded() bool { return !f.before.IsZero() || !f.from.IsZero() }

// newFresh is false for commands that make nothing.
func newFresh(command machine.Command) (f fresh, makes bool) {
	switch c := command.(type) {
	case machine.Claim:
		f.before, f.from = c.CreateBefore, c.CreateFrom
		c.CreateBefore, c.CreateFrom = 0, 0
		command = c
	case machine.Begin:
		f.before, f.from = c.CreateBefore, c.CreateFrom
		c.CreateBefore, c.CreateFrom = 0, 0
		command = c
	default:
		return f, false
	}
	f.record, f.reply = machine.Step(nil, command, anyBirth.Time())
	f.packed, _ = pack(f.record, anyBirth)
	return f, true
}

// born says when it was made.
func (f *fresh) born(birth machine.Instant) {
	shift(birth-anyBirth, &f.record.Claimed, &f.record.Started, &f.record.LeaseEnd, &f.reply.At, &f.reply.LeaseEnd)
}

// shift moves instants, but not those that are not set.
func shift(by machine.Instant, instants ...*machine.Instant) {
	for _, i := range instants {
		if !i.IsZero() {
			*i += by
		}
	}
}

// look reads the record of a target. If there is none it makes one, if it is given one.
func (s *Store) look(ctx context.Context, t target, fresh *fresh) (found, error) {
	if fresh.packed == nil || fresh.bounded() || s.older {
		return s.load(ctx, t, fresh)
	}
	w := turn{keys: t.keys, generation: t.generation, packed: fresh.packed}
	err := s.joinRound(ctx, &w)
	switch {
	case err != nil:
		return s.onlyFound(ctx, t, err)
	case w.lost:
		if w.done { // it is void in any case, and in nobody's way
			s.client.Do(ctx, s.client.B().Del().Key(t.keys[0]).Build())
		}
		return found{}, lostBucket(t.bucket)
	case w.done:
		return madeAt(s.instant(w.until)), nil
	}
	return s.understand(t, w.found, w.until, s.instant(w.now))
}

// onlyFound looks for a record where making one was refused, such as for want of memory: answers are replayed all the
// same.
func (s *Store) onlyFound(ctx context.Context, t target, err error) (found, error) {
	if errors.Is(err, store.ErrUnavailable) && context.Cause(ctx) == nil {
		if f, failure := s.load(ctx, t, nil); failure == nil && f.record != nil {
			return f, nil
		}
	}
	return found{}, err
}
