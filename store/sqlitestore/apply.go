package sqlitestore

import (
	"context"
	"slices"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Apply implements [store.Store].
//
// Claims and inspections look at the committed record first, and are answered from it if they change
// nothing. That is as good as an answer given under the lock. The snapshot S begins after the command
// was called, so every acknowledged change is in it. The time is read before S; call it t.
//
//   - A record in S that is as it was at t is judged at t: both are within the call.
//   - A record that changed between t and S is younger than t. If its lease or window has not ended at t,
//     it had not ended either just after the change, and that moment is within the call. If its lease
//     has ended at t, it has ended at S. One exception: an answer with a window of nothing has ended
//     when it is made, and would seem alive at t. So no answer is judged before it was finished.
//
// Read the other way round, the time after the snapshot, an owner's renewal could fall between the two,
// and a live execution would be taken for an interrupted one.
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	switch c := command.(type) {
	case machine.Inspect:
		seen, err := s.glance(ctx, c)
		return seen.reply, err
	case machine.Claim:
		seen, err := s.glance(ctx, c)
		if err != nil || seen.final {
			return seen.reply, err
		}
		return s.enqueue(ctx, keepable(c), seen.absent)
	case machine.Begin:
		seen, err := s.glance(ctx, c)
		if err != nil || seen.final {
			return seen.reply, err
		}
		c.Claim = keepable(c.Claim)
		return s.enqueue(ctx, c, seen.absent)
	}
	return s.enqueue(ctx, command, false)
}

// glimpse is what a command comes to on the committed record.
type glimpse struct {
	reply  machine.Reply
	final  bool // it would change nothing, so this is the answer
	absent bool // there is no record
}

func (s *Store) glance(ctx context.Context, command machine.Command) (glimpse, error) {
	now := s.now()
	record, err := s.peek(ctx, command.Target().Digest)
	if err != nil {
		return glimpse{}, err
	}
	if record != nil && machine.InstantOf(now) < record.Finished {
		now = record.Finished.Time()
	}
	next, reply := machine.Step(record, command, now)
	if reply.Outcome == machine.Barred {
		// The caller goes on to another record of the key. Somebody who was in time may be about to commit
		// this one, so that there is none is answered only under the lock.
		return glimpse{}, nil
	}
	return glimpse{reply: reply, final: next == record, absent: record == nil}, nil
}

// keepable returns a claim that does not change with what its caller does after a context ended, while
// the writer may still read it.
func keepable(c machine.Claim) machine.Claim {
	c.Fingerprints, c.Codecs = slices.Clone(c.Fingerprints), slices.Clone(c.Codecs)
	return c
}

// enqueue hands a command to the writer and waits for its group.
func (s *Store) enqueue(ctx context.Context, command machine.Command, fresh bool) (machine.Reply, error) {
	if err := s.usable(ctx); err != nil {
		return machine.Reply{}, err
	}
	r := s.requests.Get().(*request)
	r.command, r.fresh = command, fresh
	if s.writer.alone(r) {
		<-r.done
		return s.outcome(r)
	}
	return s.await(ctx, r)
}

// outcome takes the answer out of a request, whose use ends here.
func (s *Store) outcome(r *request) (machine.Reply, error) {
	reply, err := r.reply, r.err
	r.reset()
	s.requests.Put(r)
	return reply, err
}

// await sends a request and waits for its end, or for the end of the caller's context. Before the
// request's group has begun that means it is withdrawn; after it, nobody knows yet.
func (s *Store) await(ctx context.Context, r *request) (machine.Reply, error) {
	select {
	case s.writer.queue <- r:
	case <-ctx.Done():
		return machine.Reply{}, store.Unavailable(context.Cause(ctx))
	case <-s.closing:
		return machine.Reply{}, store.Unavailable(errClosed)
	}
	select {
	case <-r.done:
		return s.outcome(r)
	case <-ctx.Done():
		if r.claim() {
			return machine.Reply{}, store.Unavailable(context.Cause(ctx))
		}
		r.left.Store(true) // the request is the writer's for good: it is not used again
		return machine.Reply{}, store.Indeterminate(context.Cause(ctx))
	case <-s.writer.stopped:
		// The writer answers all that it took before it stops.
		if r.claim() {
			return machine.Reply{}, store.Unavailable(errClosed)
		}
		<-r.done
		return r.reply, r.err
	}
}
