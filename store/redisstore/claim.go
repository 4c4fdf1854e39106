package redisstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// anyBirth stands for the birth of a record of which only the server will know it: instants are stored as
// counted from it.
const anyBirth = machine.Instant(1) << 50

// fresh is what a claim makes where there is no record.
type fresh struct {
	record *machine.Record
	reply  machine.Reply
	packed []byte
}

// newFresh returns nil for commands that make nothing, and for claims whose bounds only the store's time can judge.
func newFresh(command machine.Command) *fresh {
	var c machine.Claim
	switch command := command.(type) {
	case machine.Claim:
		c = command
	case machine.Begin:
		c = command.Claim
	default:
		return nil
	}
	if c.CreateBefore != 0 || c.CreateFrom != 0 {
		return nil
	}
	f := &fresh{}
	f.record, f.reply = machine.Step(nil, command, anyBirth.Time())
	f.packed, _ = pack(f.record, anyBirth)
	return f
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

// claim makes a record if there is none, and reads what there was, in one transaction with the bucket's
// generation: a server that has lost its data has lost that too.
func (s *Store) claim(ctx context.Context, t target, fresh *fresh) (found, error) {
	if fresh == nil || s.scripted {
		return s.load(ctx, t, fresh)
	}
	key, b := t.keys[0], s.client.B()
	replies := s.client.DoMulti(ctx, s.transaction.begin,
		b.Set().Key(key).Value(rueidis.BinaryString(fresh.packed)).Nx().Get().PxMilliseconds(nominalLife).Build(),
		b.Pexpiretime().Key(key).Build(), b.Pttl().Key(key).Build(), t.ask,
		s.transaction.end)
	all, err := replies[len(replies)-1].ToArray()
	if err != nil {
		return s.onlyFound(ctx, t, refusal(replies, err))
	}
	generation, _ := all[3].ToString() // whatever else is there is none
	before, err := all[0].AsBytes()
	made := rueidis.IsRedisNil(err)
	switch {
	case generation != string(t.generation[:]):
		if made { // it is void in any case, and in nobody's way
			s.client.Do(ctx, s.client.B().Del().Key(key).Build())
		}
		return found{}, lostBucket(t.bucket)
	case made:
		expiry, err := all[1].AsInt64()
		return madeAt(s.instant(expiry)), sent(ctx, err)
	case err != nil:
		return found{}, sent(ctx, err)
	}
	return s.understand(ctx, t, before, all[1], all[2])
}

// onlyFound looks for a record where making one was refused, such as for want of memory: answers are replayed all the
// same.
func (s *Store) onlyFound(ctx context.Context, t target, err error) (found, error) {
	if refused(err) {
		if f, failure := s.load(ctx, t, nil); failure == nil && f.record != nil {
			return f, nil
		}
	}
	return found{}, sent(ctx, err)
}

// transaction is what every one begins and ends with.
type transaction struct{ begin, end rueidis.Completed }

func newTransaction(client rueidis.Client) transaction {
	return transaction{client.B().Multi().Build().Pin(), client.B().Exec().Build().Pin()}
}

// refusal returns why a transaction was not run: the server says it of the command that it refused.
func refusal(replies []rueidis.RedisResult, err error) error {
	if _, ok := rueidis.IsRedisErr(err); !ok {
		return err
	}
	for _, reply := range replies[:len(replies)-1] {
		if cause := reply.Error(); cause != nil {
			return cause
		}
	}
	return err
}
