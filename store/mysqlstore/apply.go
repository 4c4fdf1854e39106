package mysqlstore

import (
	"context"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Apply implements [store.Store]. There are three ways:
//
//   - What changes nothing is answered from the committed record (glance).
//   - A new record, and the answer of an execution that this process began, are written in a group
//     without being loaded first (make, complete).
//   - Everything else, and whatever met an obstacle on its way, is loaded, decided and written under the
//     lock of the key's row (step).
//
// An answer from the committed record is as good as one given under the lock. Its snapshot S begins after
// the command was called, so every acknowledged change is in it. The time t is read before S.
//
//   - A record in S that is as it was at t is judged at t: both are within the call.
//   - A record that was committed between t and S is as young as the call. If its lease or window has not
//     ended at t, it had not ended either just after the change, and that moment is within the call. If its
//     lease has ended at t, it has ended at S. One exception: an answer with a window of nothing has ended
//     when it is made, and would seem alive at t. So no answer is judged before it was finished.
//
// Read the other way round, the time after the snapshot, an owner's renewal could fall between the two,
// and a live execution would be taken for an interrupted one.
//
// A key may be held by the transaction of an effect ([Effects.Do], [Effects.Join]), which can stay open for
// long. A claim on it is told at once that it is in progress, with no revision, because nothing of it is
// committed, and a lease end of one second from now, because nobody knows the transaction's: that is when to
// ask again. If the effect is rolled back, the key is as it was. Every other command waits for the key until
// its context ends, and is unavailable then. So does a claim on a key that is held by anything else, which
// are transactions without an action inside, and short.
//
// One answer is given under the lock only: that there is no record and none may be made any more
// ([machine.Barred]). Its caller goes on to another record of the same key, so it has to know that nobody
// is just making this one.
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	if err := s.enter(ctx); err != nil {
		return machine.Reply{}, err
	}
	defer s.running.Done()
	if command.Invalid() != "" {
		seen, err := s.glance(ctx, command)
		return seen.reply, err
	}
	switch c := command.(type) {
	case machine.Inspect:
		seen, err := s.glance(ctx, c)
		return seen.reply, err
	case machine.Claim:
		return s.claim(ctx, c, c)
	case machine.Begin:
		return s.claim(ctx, c.Claim, c)
	case machine.Complete:
		return s.complete(ctx, c)
	}
	return s.step(ctx, command, nil)
}

// glimpse is what a command comes to on the committed record.
type glimpse struct {
	record *machine.Record
	reply  machine.Reply
	final  bool // it would change nothing, so this is the answer
}

func (s *Store) glance(ctx context.Context, command machine.Command) (glimpse, error) {
	record, at, err := s.peek(ctx, command.Target().Digest)
	if err != nil {
		return glimpse{}, err
	}
	if record != nil {
		at = max(at, record.Finished)
	}
	next, reply := machine.Step(record, command, at.Time())
	g := glimpse{record: record, reply: reply, final: next == record && reply.Outcome != machine.Barred}
	if g.final {
		if err := s.durable(ctx, record); err != nil {
			return glimpse{}, err
		}
	}
	return g, nil
}

// claim runs a Claim, or a Begin around it. Whether it tries to make a record first, or looks for one
// first, follows what the last claim met: either is right, and a wrong guess costs a round trip. Where it is
// known that none can be made, none is tried: one that is in the way of a group delays the others.
func (s *Store) claim(ctx context.Context, c machine.Claim, command machine.Command) (machine.Reply, error) {
	digest := c.Scope.Digest
	hopeless := s.held.has(digest) || s.turns.Taken(digest) || s.memory.Get(digest) != nil || c.CreateBefore != 0 && int64(c.CreateBefore) <= s.seen.Load()
	makeFirst := !s.replays.Load() && !hopeless
	var failure error
	if makeFirst {
		reply, done, err := s.make(ctx, c, command)
		if done || err != nil && (ctx.Err() != nil || store.Classify(err) != store.ErrUnavailable) {
			return reply, err
		}
		failure = err // a server that cannot write may still have the answer
	}
	seen, err := s.glance(ctx, command)
	switch {
	case err != nil:
		return machine.Reply{}, err
	case seen.final:
		s.replays.Store(true)
		return seen.reply, nil
	case failure != nil:
		return machine.Reply{}, failure
	}
	s.replays.Store(seen.record != nil)
	if seen.record == nil && !makeFirst && !hopeless {
		reply, done, err := s.make(ctx, c, command)
		if done || err != nil {
			return reply, err
		}
	}
	if seen.record == nil { // and none could be made
		return s.stepHeld(ctx, command)
	}
	return s.step(ctx, command, nil)
}

// make makes a new record if there is none. It is not done if there is one, or if the key is held.
func (s *Store) make(ctx context.Context, c machine.Claim, command machine.Command) (reply machine.Reply, done bool, err error) {
	w := form.NewRecord(c, command)
	if err := s.send(ctx, w); err != nil {
		return reply, false, err
	}
	switch {
	case w.Doubt != nil:
		reply, err = s.step(ctx, command, &form.Doubt{Cause: w.Doubt})
		return reply, true, err
	case !w.Written:
		return reply, false, nil
	}
	record, reply := w.Settle()
	s.committed(w.Digest, record, w.Packed.Record, w.At)
	return reply, true, nil
}

// complete records the answer of an execution. The record as this process remembers it decides; the
// server writes only if that is still the record.
func (s *Store) complete(ctx context.Context, c machine.Complete) (machine.Reply, error) {
	var w *form.Write
	if known := s.memory.Get(c.Scope.Digest); known != nil {
		w = form.NewAnswer(known, c)
	}
	if w == nil {
		return s.step(ctx, c, nil)
	}
	if err := s.send(ctx, w); err != nil {
		return machine.Reply{}, err
	}
	switch {
	case w.Doubt != nil:
		return s.step(ctx, c, &form.Doubt{Previous: w.Known.Record, Cause: w.Doubt})
	case !w.Written:
		return s.step(ctx, c, nil)
	}
	record, reply := w.Settle()
	s.committed(w.Digest, record, nil, w.At)
	return reply, nil
}

// largeAnswer is from which size on an answer is not written with others: a group of them would be too much
// for one packet.
const largeAnswer = 16 << 10

// send has a write done, with others if it is small.
func (s *Store) send(ctx context.Context, w *form.Write) error {
	if len(w.Packed.Answer) >= largeAnswer {
		return conclude(ctx, w, s.within(ctx, s.steps, func(c *conn) error { return s.writeOne(ctx, c, w) }))
	}
	return gather.Changing(ctx, s.commits.Do(ctx, w))
}

// committed is changed after a commit of this process at an instant.
func (s *Store) committed(digest machine.Digest, record *machine.Record, packed []byte, at machine.Instant) {
	s.durability.commit(at)
	if record != nil {
		s.durability.put(record)
	}
	s.changed(digest, record, packed)
}

// changed notes that a record is now another one; nil: none. What this process may soon complete is
// remembered with its packed form, and who waits for a change in this process is woken.
func (s *Store) changed(digest machine.Digest, record *machine.Record, packed []byte) {
	s.writing.Add(1)
	if record != nil && record.State == machine.Executing {
		if packed == nil {
			packed = form.Pack(record).Record
		}
		s.memory.Put(digest, &gather.Remembered{Record: record, Packed: packed})
	} else {
		s.memory.Drop(digest)
	}
	s.watchers.wake(digest)
}
