package redisstore

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	if err := s.enter(ctx); err != nil {
		return machine.Reply{}, err
	}
	defer s.leave()
	bucket, since := bucketOf(command.Target().Digest), s.server()
	reply, err := s.decide(ctx, command)
	if err != nil && moving(err) {
		reply, err = s.decideOnceMoved(ctx, command, err)
	}
	if err = s.confirm(ctx, bucket, since, err); err != nil {
		return machine.Reply{}, s.notice(ctx, bucket, err)
	}
	return reply, nil
}

func (s *Store) decide(ctx context.Context, command machine.Command) (machine.Reply, error) {
	if reason := command.Invalid(); reason != "" {
		// Nothing is sent for it; but it is answered with the store's time like any other.
		command = machine.Inspect{Scope: command.Target()}
		r, err := s.load(ctx, newTarget(s, command.Target().Digest), nil)
		return machine.Reply{Outcome: machine.Invalid, At: r.now, Reason: reason}, err
	}
	t := newTarget(s, command.Target().Digest)
	if t.generation == (machine.Generation{}) {
		return machine.Reply{}, lostBucket(t.bucket)
	}
	switch command.(type) {
	case machine.Complete, machine.Fail:
		if reply, done, err := s.finish(ctx, t, command); done {
			return reply, err
		}
	}
	return s.step(ctx, t, command)
}

// step loads the record, decides, and swaps in what changed, again and again until nobody came between. The
// time is that of the load: the record is still the same at the swap, so that what was decided at the one
// holds at the other.
func (s *Store) step(ctx context.Context, t target, command machine.Command) (machine.Reply, error) {
	fresh, makes := newFresh(command)
	for {
		found, err := s.look(ctx, t, &fresh)
		if err != nil {
			if makes {
				s.held.drop(t.digest) // there may be another record of the same claim
			}
			return machine.Reply{}, err
		}
		if found.made {
			fresh.born(found.birth)
			s.held.put(fresh.record, found.birth, fresh.packed)
			return fresh.reply, nil
		}
		next, reply := machine.Step(found.record, command, found.now.Time())
		if next == found.record {
			s.met(ctx, t, found, reply)
			return reply, nil
		}
		if state, _ := found.record.Judge(found.now); state == machine.Absent {
			found.birth = found.now // what is made is not what was there before
			found.before = madeBefore(command)
		}
		if done, err := s.swap(ctx, t, found, next); done || err != nil {
			return reply, err
		}
	}
}

// found is what a load has found.
type found struct {
	record *machine.Record // nil if there is none
	birth  machine.Instant
	packed []byte // as it is there; nil if there is none
	made   bool   // by this load
	now    machine.Instant
	before machine.Instant // of a record that is to be made: not from then on; zero is no bound
}

// madeBefore is from when on a command makes no record any more. The time of the load does not settle that: somebody
// else may be told meanwhile that none can be made ([machine.Barred]), and go on to another record of the key.
func madeBefore(command machine.Command) machine.Instant {
	switch c := command.(type) {
	case machine.Claim:
		return c.CreateBefore
	case machine.Begin:
		return c.CreateBefore
	}
	return 0
}

// load reads the record of a target. If there is none it makes one, if it is given one, and within its bounds.
func (s *Store) load(ctx context.Context, t target, fresh *fresh) (found, error) {
	args, makes := []string{string(t.generation[:])}, fresh != nil && fresh.packed != nil
	if makes {
		args = append(args, rueidis.BinaryString(fresh.packed), nominal, s.bound(fresh.before), s.bound(fresh.from))
	}
	message, err := s.scripts.load.Exec(ctx, s.client, t.keys, args).ToMessage()
	switch {
	case err != nil && makes:
		return found{}, sent(ctx, err)
	case err != nil:
		return found{}, unread(ctx, err)
	case message.IsInt64():
		n, err := message.AsInt64()
		if err != nil {
			return found{}, sent(ctx, err)
		}
		if n == replyLost {
			return found{}, lostBucket(t.bucket)
		}
		return madeAt(s.instant(n)), nil
	}
	return s.read(ctx, t, message)
}

// madeAt is what a claim has made whose key expires at an instant.
func madeAt(expiry machine.Instant) found {
	birth := expiry - nominalLife*1000
	return found{made: true, birth: birth, now: birth}
}

// read reads the reply of a script that looked at a record: the time if there is none, else the record, when its key expires,
// and what is left until then.
func (s *Store) read(ctx context.Context, t target, message rueidis.RedisMessage) (f found, err error) {
	parts, err := message.ToArray()
	if err != nil {
		return f, unread(ctx, err)
	}
	if len(parts) == 2 {
		now, err := parts[1].AsInt64()
		return found{now: s.instant(now)}, unread(ctx, err)
	}
	if len(parts) < 3 {
		return f, unread(ctx, errRound)
	}
	packed, err := parts[0].AsBytes()
	if err != nil {
		return f, unread(ctx, err)
	}
	expiry, err := parts[1].AsInt64()
	if err != nil {
		return f, unread(ctx, err)
	}
	left, err := parts[2].AsInt64()
	if err != nil {
		return f, unread(ctx, err)
	}
	return s.understand(t, packed, expiry, s.instant(expiry-left))
}

// understand reads a record whose key expires at a time of the server, in milliseconds.
func (s *Store) understand(t target, packed []byte, expiry int64, now machine.Instant) (f found, err error) {
	f.now, f.packed = now, packed
	if f.record, f.birth, err = unpack(t.digest, f.packed, t.generation, s.instant(expiry)); err != nil {
		return f, store.Corrupt(t.digest, err)
	}
	if formOf(packed) == formHeld {
		stay(f.record, f.now)
	}
	return f, nil
}

// swap writes what a record became, or deletes it, and reports whether it was still the one that was found, and not too late.
func (s *Store) swap(ctx context.Context, t target, f found, next *machine.Record) (bool, error) {
	args := []string{string(t.generation[:]), string(identifyingPart(f.packed)), "", ""}
	var packed []byte
	if next != nil {
		var life int64
		packed, life = pack(next, f.birth)
		args[2], args[3] = rueidis.BinaryString(packed), strconv.FormatInt(s.milliseconds(f.birth)+life, 10)
	}
	keys := t.keys
	if !f.before.IsZero() {
		args = append(args, "", s.bound(f.before))
	} else if change := indexing(f, next); change != "" {
		keys, args = append(keys[:len(keys):len(keys)], s.names.abandoned(t.bucket)), append(args, change)
	}
	n, err := s.scripts.swap.Exec(ctx, s.client, keys, args).AsInt64()
	switch {
	case err != nil:
		return false, sent(ctx, err)
	case n == replyLost:
		return false, lostBucket(t.bucket)
	}
	if n == 1 {
		s.watchers.wake(t.digest)
	}
	if n == 1 && next != nil && (next.State == machine.Claimed || next.State == machine.Executing) {
		s.held.put(next, f.birth, packed)
	} else {
		s.held.drop(t.digest)
	}
	return n == 1, nil
}

// instant turns milliseconds of the server's clock into an instant.
func (s *Store) instant(ms int64) machine.Instant {
	return machine.Instant(ms * 1000).Add(s.offset())
}

// bound is the first millisecond of the server's clock that is not before an instant; empty for no bound.
func (s *Store) bound(i machine.Instant) string {
	if i.IsZero() {
		return ""
	}
	return strconv.FormatInt(s.milliseconds(i+999), 10)
}

// milliseconds is the way back.
func (s *Store) milliseconds(i machine.Instant) int64 { return int64(i.Add(-s.offset())) / 1000 }
