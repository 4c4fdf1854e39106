package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// replyBarred is what the script of an effect answers when no record may be made now.
const replyBarred = -4

// effectCall is one effect on one candidate of an invocation.
type effectCall struct {
	effect     *Effect
	store      *Store
	invocation *store.Invocation
	candidate  int
	keys, args []string
	target     target
}

// run makes the effect, unless there is a record that says otherwise. One that was given up is taken over.
func (c *effectCall) run(ctx context.Context) (store.Effect, machine.Reply, error) {
	begin := c.invocation.Begin(c.candidate, 0)
	c.target = newTarget(c.store, begin.Scope.Digest)
	if reason := c.invalid(begin); reason != "" {
		return c.answered(nil, machine.Reply{Outcome: machine.Invalid, Reason: reason})
	}
	if c.target.generation == (machine.Generation{}) {
		return store.Effect{}, machine.Reply{}, lostBucket(c.target.bucket)
	}
	begin.Generation = c.target.generation
	begun, _ := machine.Step(nil, unbound(begin), anyBirth.Time())
	message, err := c.send(ctx, begin, found{birth: anyBirth, now: anyBirth}, begun)
	for err == nil {
		switch result, text, expiry, age, kind := readEffect(message); kind {
		case effectRan:
			return c.ended(begun, begin, result, text, expiry, age)
		case effectBarred:
			return store.Effect{}, machine.Reply{Outcome: machine.Barred}, nil
		case effectLost:
			return store.Effect{}, machine.Reply{}, lostBucket(c.target.bucket)
		}
		var f found
		if f, err = c.meet(ctx, message); err != nil {
			break
		}
		if c.mine(f.record) && f.record.State == machine.Retryable {
			return c.answered(f.record, machine.Reply{})
		}
		var reply machine.Reply
		if begun, reply = take(f.record, &begin, f.now); begun == f.record || reply.Outcome == machine.Barred {
			c.store.met(ctx, c.target, f, reply)
			return c.answered(f.record, reply)
		}
		if state, _ := f.record.Judge(f.now); state == machine.Absent {
			f.birth = f.now
		}
		message, err = c.send(ctx, begin, f, begun)
	}
	return store.Effect{}, machine.Reply{}, err
}

// invalid says what is wrong with the call, or nothing.
func (c *effectCall) invalid(begin machine.Begin) string {
	if reason := begin.Invalid(); reason != "" {
		return reason
	}
	tag := bucketTag(c.target.bucket)
	for _, key := range c.keys {
		if !strings.Contains(key, tag) {
			return fmt.Sprintf("the effect's key %q is not in the bucket %s of its record: name the tag in the call, and build the names of keys with redisstore.Bucket", key, tag)
		}
	}
	return ""
}

// unbound returns the begin without its bounds, which only the server's time can judge.
func unbound(b machine.Begin) machine.Begin {
	b.CreateBefore, b.CreateFrom = 0, 0
	return b
}

// take begins on a record that is there, and takes it over if it can be had.
func take(record *machine.Record, begin *machine.Begin, now machine.Instant) (*machine.Record, machine.Reply) {
	begin.Seen = 0
	next, reply := machine.Step(record, *begin, now.Time())
	if reply.Outcome == machine.Takeable {
		begin.Seen = reply.Revision
		next, reply = machine.Step(record, *begin, now.Time())
	}
	return next, reply
}

// send sends the script, which writes what begun says in the place of what was found.
func (c *effectCall) send(ctx context.Context, begin machine.Begin, f found, begun *machine.Record) (rueidis.RedisMessage, error) {
	at := f.birth
	v, hold := c.invocation, c.invocation.Hold(c.candidate, begun.Attempt, begun.Revision)
	completed, _ := machine.Step(begun, v.Complete(hold, machine.NewResponse(EffectCodec, nil)), at.Time())
	refused, _ := machine.Step(begun, v.Fail(hold, true, "reason", machine.Response{}), at.Time())
	abandoned, _ := machine.Step(begun, v.Fail(hold, false, "reason", machine.Response{}), at.Time())
	if completed.State != machine.Completed || refused.State != machine.Retryable {
		return rueidis.RedisMessage{}, fmt.Errorf("the invocation makes no sense: its window or how long it is remembered")
	}
	done, life := formAround(completed, c.effect.held, f.birth), lasts(v.Remember)
	if c.effect.held {
		life = ""
	}
	none, unknown := formAround(refused, false, f.birth), formAround(abandoned, false, f.birth)
	common := commonEnd(done[0], none[0], unknown[0])
	begins := func(form [3]string) string { return form[0][:len(form[0])-len(common)] }
	otherwise := framed(begins(none), none[1], none[2], lasts(v.Retryable), begins(unknown), unknown[1], unknown[2])
	args := append(c.args[:len(c.args):len(c.args)],
		string(c.target.generation[:]), common, begins(done), done[1]+done[2], life, otherwise, c.unusual(begin, f, begun))
	keys := append(c.keys[:len(c.keys):len(c.keys)], c.target.keys[0], c.target.keys[1], c.store.names.abandoned(c.target.bucket))
	message, err := c.effect.on(c.store).Exec(ctx, c.store.client, keys, args).ToMessage()
	return message, sent(ctx, err)
}

// unusual is what the script has to know where there may be a record, where not every moment will do, and of an effect that is
// executing for a while.
func (c *effectCall) unusual(begin machine.Begin, f found, begun *machine.Record) string {
	known, expiry, bounds := "", "", c.bounds(begin)
	if len(f.packed) > 0 {
		known, expiry = string(identifyingPart(f.packed)), strconv.FormatInt(c.store.milliseconds(f.birth)+nominalLife, 10)
	}
	if c.effect.decided && known+bounds == "" {
		return ""
	}
	executing, _ := pack(begun, f.birth)
	return framed(known, expiry, bounds, string(executing))
}

// commonEnd returns the longest text that all of some end with.
func commonEnd(texts ...string) string {
	end := texts[0]
	for _, text := range texts[1:] {
		for !strings.HasSuffix(text, end) {
			end = end[1:]
		}
	}
	return end
}

// formAround returns the stored form of a finished record in three parts: before the moment, which is the age that only
// the script will know, before what it will know too, which is a reason or the data of an answer, and the rest.
func formAround(r *machine.Record, held bool, birth machine.Instant) [3]string {
	p := newOpenPacking(r, birth)
	p.held = held
	p.flags |= flagAged
	return [...]string{string(p.front(nil)), string(p.endings(nil)), string(p.last(nil))}
}

// framed writes texts one after the other, each after its length in two bytes.
func framed(texts ...string) string {
	var b []byte
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
	}
	return string(b)
}

// lasts writes how long a record stays that is remembered for d, as the script takes it.
func lasts(d time.Duration) string { return strconv.FormatInt(livesOn(d), 10) }

// bounds writes those of a claim as the script takes them.
func (c *effectCall) bounds(b machine.Begin) string {
	if b.CreateBefore.IsZero() && b.CreateFrom.IsZero() {
		return ""
	}
	return c.bound(b.CreateBefore) + "," + c.bound(b.CreateFrom)
}

// bound writes a bound of a claim.
func (c *effectCall) bound(i machine.Instant) string {
	if i.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.store.milliseconds(i), 10)
}

// meet reads what is there instead of what the script was to find.
func (c *effectCall) meet(ctx context.Context, message rueidis.RedisMessage) (found, error) {
	if message.IsArray() {
		return c.store.read(ctx, c.target, message)
	}
	return c.store.load(ctx, c.target, nil)
}

// ended returns what came of an effect that ran.
func (c *effectCall) ended(begun *machine.Record, begin machine.Begin, state machine.State, text string, expiry, age int64) (store.Effect, machine.Reply, error) {
	if state != machine.Completed {
		return store.Effect{}, machine.Reply{}, c.failed(state, text)
	}
	birth := c.store.instant(expiry - nominalLife)
	began := birth
	if begin.Seen == 0 {
		began = anyBirth // says the record that was sent
	}
	v, hold := c.invocation, c.invocation.Hold(c.candidate, begun.Attempt, begun.Revision)
	response := machine.NewResponse(EffectCodec, []byte(text))
	_, reply := machine.Step(begun, v.Complete(hold, response), (began + machine.Instant(age*1000)).Time())
	instants := []*machine.Instant{&reply.At, &reply.Finished, &reply.WindowEnd, &reply.RememberUntil, &reply.LeaseEnd}
	if shift(birth-began, instants...); expiry == 0 { // nobody asked
		for _, i := range instants {
			*i = 0
		}
	}
	return store.Effect{Response: response, Scope: begun.Scope, Reply: reply}, reply, nil
}

func (c *effectCall) failed(state machine.State, reason string) error {
	return &EffectError{Effect: c.effect.name, Scope: c.invocation.Candidates[c.candidate].Scope, Unknown: state == machine.Abandoned, Reason: reason}
}

// answered returns what a record says. One that this invocation has finished itself, with a reply that was lost, says
// what came of it.
func (c *effectCall) answered(record *machine.Record, reply machine.Reply) (store.Effect, machine.Reply, error) {
	mine := c.mine(record)
	if mine && (record.State == machine.Retryable || record.State == machine.Abandoned) {
		return store.Effect{}, reply, c.failed(record.State, record.Reason)
	}
	if reply.Outcome == machine.ReplayedAcquire {
		reply.Outcome = machine.InProgress // a script does not leave a record like that behind
	}
	if reply.Outcome == machine.Barred {
		return store.Effect{}, reply, nil
	}
	effect, err := c.invocation.Answered(c.candidate, reply)
	effect.Replayed = effect.Replayed && !mine
	return effect, reply, err
}

// mine reports whether a record is that of this very invocation.
func (c *effectCall) mine(record *machine.Record) bool {
	return record != nil && record.Owner == c.invocation.Owner.Digest() && record.Nonce == c.invocation.Nonce
}

// What the reply of an effect's script means.
const (
	effectMet    = iota // another record than was expected
	effectRan           // it ran, and came to a state
	effectBarred        // no record may be made now
	effectLost          // the bucket's generation is missing, or another one
)

func readEffect(message rueidis.RedisMessage) (state machine.State, text string, expiry, age int64, kind int) {
	if n, err := message.AsInt64(); err == nil {
		switch n {
		case replyBarred:
			kind = effectBarred
		case replyLost:
			kind = effectLost
		}
		return state, text, expiry, age, kind
	}
	if text, err := message.ToString(); err == nil {
		return machine.Completed, text, 0, 0, effectRan
	}
	parts, err := message.ToArray()
	if err != nil || len(parts) != 4 {
		return state, text, expiry, age, effectMet
	}
	n, _ := parts[0].AsInt64()
	text, _ = parts[1].ToString()
	expiry, _ = parts[2].AsInt64()
	age, _ = parts[3].AsInt64()
	return machine.State(n), text, expiry, age, effectRan
}
