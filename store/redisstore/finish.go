package redisstore

import (
	"context"

	"github.com/reprise-dev/reprise/machine"
)

// finish completes or fails an execution that this process has begun, without reading it first. done is false
// if that cannot be done so, and nothing was changed.
func (s *Store) finish(ctx context.Context, t target, command machine.Command) (reply machine.Reply, done bool, err error) {
	held, ok := s.held.get(t.digest)
	if !ok {
		return reply, false, nil
	}
	// What is decided here does not depend on the time; what is written counts from it.
	next, reply := machine.Step(held.record, command, held.birth.Time())
	if !reply.Outcome.Applied() || !fades(next.State, !next.RememberUntil.IsZero()) {
		return reply, false, nil
	}
	packed, _ := pack(next, held.birth)
	w := turn{
		errand: finishes, keys: t.keys, generation: t.generation, known: identifyingPart(held.packed)[1:], packed: packed,
		life: livesOn(next.RememberUntil.Sub(held.birth)),
	}
	if err := s.joinRound(ctx, &w); err != nil {
		return machine.Reply{}, true, err
	}
	s.held.drop(t.digest)
	switch {
	case w.lost:
		return machine.Reply{}, true, lostBucket(t.bucket)
	case !w.done:
		return machine.Reply{}, false, nil
	}
	s.watchers.wake(t.digest)
	shift(s.instant(w.now)-held.birth, &reply.At, &reply.Finished, &reply.WindowEnd, &reply.RememberUntil)
	return reply, true, nil
}

// nominal is nominalLife as scripts take it.
const nominal = "3153600000000"
