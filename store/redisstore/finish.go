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
	at := held.birth
	next, reply := machine.Step(held.record, command, at.Time())
	if !reply.Outcome.Applied() {
		return reply, false, nil
	}
	life := ""
	if fades(next.State, !next.RememberUntil.IsZero()) {
		life = strconv.FormatInt(livesOn(next.RememberUntil.Sub(at)), 10)
	}
	tail := appendTail(make([]byte, 0, 64+len(next.Response.Data)), next, at)
	keys := t.keys
	if next.State == machine.Abandoned {
		keys = append(keys[:len(keys):len(keys)], s.names.abandoned(t.bucket))
	}
	age, err := s.scripts.finish.Exec(ctx, s.client, keys, []string{
		string(t.generation[:]), string(appendHead(nil, held.record.State, held.record)[1:]),
		string(appendHead(nil, next.State, next)), rueidis.BinaryString(tail), life,
		strconv.FormatInt(s.milliseconds(at)+nominalLife, 10), nominal,
	}).AsInt64()
	switch {
	case err != nil:
		return machine.Reply{}, true, sent(ctx, err)
	case age == replyLost:
		return machine.Reply{}, true, lostBucket(t.bucket)
	}
	s.held.drop(t.digest)
	if age == replyMoved {
		return machine.Reply{}, false, nil
	}
	s.watchers.wake(t.digest)
	_, reply = machine.Step(held.record, command, (held.birth + machine.Instant(age*1000)).Time())
	return reply, true, nil
}

// nominal is nominalLife as scripts take it.
const nominal = "3153600000000"
