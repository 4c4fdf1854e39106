package redisstore

import (
	"context"
	"errors"
	"sync/atomic"

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

// look reads the record of a target. If there is none it makes one, if it is given one, and within its bounds.
func (s *Store) look(ctx context.Context, t target, fresh *fresh) (f found, err error) {
	if fresh.packed == nil || s.older {
		return s.load(ctx, t, fresh)
	}
	w := turn{errand: looks, keys: t.keys, generation: t.generation}
	if s.habit.looksFirst() {
		f, err = s.inRound(ctx, t, &w, fresh)
	}
	if f.record == nil && !f.made && err == nil { // a large one may have been forgotten, and made anew, where it was read by itself
		w = turn{errand: claims, keys: t.keys, generation: t.generation, packed: fresh.packed, before: s.bound(fresh.before), from: s.bound(fresh.from)}
		f, err = s.inRound(ctx, t, &w, fresh)
	}
	if err == nil {
		s.habit.met(f.record != nil)
	}
	return f, err
}

// inRound has a turn done that looks or claims.
func (s *Store) inRound(ctx context.Context, t target, w *turn, fresh *fresh) (found, error) {
	err := s.joinRound(ctx, w)
	switch {
	case err != nil:
		return s.onlyFound(ctx, t, err)
	case w.lost:
		if w.done { // it is void in any case, and in nobody's way
			s.client.Do(ctx, s.client.B().Del().Key(t.keys[0]).Build())
		}
		return found{}, lostBucket(t.bucket)
	case w.done:
		return madeAt(s.instant(w.now + nominalLife)), nil
	case w.cut():
		return s.load(ctx, t, fresh)
	case w.found == nil:
		return found{now: s.instant(w.now)}, nil
	}
	return s.understand(t, w.found, w.until, s.instant(w.now))
}

// onlyFound looks for a record where a round was refused, such as for want of memory, which refuses even a look in a transaction: answers
// are replayed all the same.
func (s *Store) onlyFound(ctx context.Context, t target, err error) (found, error) {
	if errors.Is(err, store.ErrUnavailable) && context.Cause(ctx) == nil {
		if f, failure := s.load(ctx, t, nil); failure == nil && f.record != nil {
			return f, nil
		}
	}
	return found{}, err
}

// habit is what claims of this process have met of late. Either way is right, to look first and to make a record first: the wrong
// one costs a round trip.
type habit struct{ records atomic.Int32 }

// habitual is after how many records in a row the next claim is expected to meet one.
const habitual = 2

func (h *habit) looksFirst() bool { return h.records.Load() >= habitual }

// met notes whether a claim has met a record. What is known already is not written again: all callers share it.
func (h *habit) met(record bool) {
	switch n := h.records.Load(); {
	case !record && n > 0:
		h.records.Store(0)
	case record && n < habitual:
		h.records.Add(1)
	}
}
