package redisstore

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

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
	life := livesOn(next.RememberUntil.Sub(held.birth))
	expiry, err := s.scripts.finish.Exec(ctx, s.client, t.keys, []string{
		string(t.generation[:]), rueidis.BinaryString(identifyingPart(held.packed)[1:]),
		rueidis.BinaryString(packed), strconv.FormatInt(life, 10), strconv.FormatInt(s.milliseconds(held.birth)+nominalLife, 10),
	}).AsInt64()
	switch {
	case err != nil:
		return machine.Reply{}, true, sent(ctx, err)
	case expiry == replyLost:
		return machine.Reply{}, true, lostBucket(t.bucket)
	}
	s.held.drop(t.digest)
	if expiry == replyMoved {
		return machine.Reply{}, false, nil
	}
	s.watchers.wake(t.digest)
	shift(s.instant(expiry-life)-held.birth, &reply.At, &reply.Finished, &reply.WindowEnd, &reply.RememberUntil)
	return reply, true, nil
}

// nominal is nominalLife as scripts take it.
const nominal = "3153600000000"
