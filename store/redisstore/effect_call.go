package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What the script of an effect answers.
const (
	replyOther  = -2 // the record is another one than was expected
	replyBarred = -4 // no record may be made now
)

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
	try, err := c.begin(begin)
	if err != nil {
		return store.Effect{}, machine.Reply{}, err
	}
	message, err := try.send(ctx)
	for err == nil {
		switch result, text, expiry, age, kind := readEffect(message); kind {
		case effectRan:
			return try.ended(result, text, expiry, age)
		case effectStray:
			return store.Effect{}, machine.Reply{}, store.Unavailable(fmt.Errorf("what decides the effect %s has returned %q, and nothing was done: it assigns its answer to the variable answer, or returns noEffect(…)", c.effect.name, text))
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
		begin.Generation = c.target.generation
		begun, reply := take(f.record, &begin, f.now)
		if begun == f.record || reply.Outcome == machine.Barred {
			c.store.met(ctx, c.target, f, reply)
			return c.answered(f.record, reply)
		}
		if state, _ := f.record.Judge(f.now); state == machine.Absent {
			f.birth = f.now
		}
		if try, err = c.prepare(begin, f, begun); err == nil {
			message, err = try.send(ctx)
		}
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
		if hashTag(key) != tag {
			return fmt.Sprintf("the effect's key %q is not in the bucket %s of its record: name the tag in the call, and build the names of keys with redisstore.Bucket", key, tag)
		}
	}
	return ""
}

// hashTag is the part of a key that decides its slot in a Cluster: what stands between the first brace and the next one that closes. What is not
// said so is no bucket's.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !closed {
		return ""
	}
	return "{" + tag + "}"
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

// effectTry is one sending of an effect's script, which writes what begun says in the place of what was found.
type effectTry struct {
	call      *effectCall
	claim     machine.Begin
	found     found
	begun     *machine.Record
	completed *machine.Record // with an empty answer
	reply     machine.Reply   // to that
	forms     *effectForms
}

// begin is the first try, which finds nothing.
func (c *effectCall) begin(claim machine.Begin) (*effectTry, error) {
	claim.Generation = c.target.generation
	begun, _ := machine.Step(nil, unbound(claim), anyBirth.Time())
	return c.prepare(claim, found{birth: anyBirth, now: anyBirth}, begun)
}

// prepare works out what a try has to say.
func (c *effectCall) prepare(claim machine.Begin, f found, begun *machine.Record) (*effectTry, error) {
	t := &effectTry{call: c, claim: claim, found: f, begun: begun}
	hold := c.invocation.Hold(c.candidate, begun.Attempt, begun.Revision)
	t.completed, t.reply = machine.Step(begun, c.invocation.Complete(hold, c.effect.empty), f.birth.Time())
	if t.completed.State != machine.Completed {
		return nil, errEffectPolicy
	}
	var err error
	t.forms, err = c.effect.formsOf(t, hold)
	return t, err
}

// send sends the script.
func (t *effectTry) send(ctx context.Context) (rueidis.RedisMessage, error) {
	keys, args := t.words()
	message, err := t.call.effect.on(t.call.store).Exec(ctx, t.call.store.client, keys, args).ToMessage()
	if rueidis.IsRedisNil(err) {
		return message, nil // it is what the script has returned
	}
	return message, sent(ctx, err)
}

// words are the script's keys and arguments.
func (t *effectTry) words() (keys, args []string) {
	c := t.call
	p := packing{r: t.completed, held: c.effect.held, flags: t.forms.flags, birth: t.found.birth}
	common := string(p.front(nil)[len(t.forms.front):])
	args = append(make([]string, 0, len(c.args)+7), c.args...)
	args = append(args, string(c.target.generation[:]), common, t.forms.front, t.forms.back, t.forms.life, t.forms.otherwise, c.unusual(t.claim, t.found, t.begun))
	keys = append(make([]string, 0, len(c.keys)+3), c.keys...)
	return append(keys, c.target.keys[0], c.target.keys[1], c.store.names.abandoned(c.target.bucket)), args
}

// unusual is what the script has to know where there may be a record, where not every moment will do, and of an effect that is
// executing for a while. A new record has its bounds also where it takes the place of one that is over; one that is taken over was made before.
func (c *effectCall) unusual(begin machine.Begin, f found, begun *machine.Record) string {
	known, expiry, bounds := "", "", ""
	if len(f.packed) > 0 {
		known, expiry = string(identifyingPart(f.packed)), strconv.FormatInt(c.store.milliseconds(f.birth)+nominalLife, 10)
	}
	if state, _ := f.record.Judge(f.now); state == machine.Absent {
		bounds = c.bounds(begin)
	}
	if c.effect.decided && known+bounds == "" {
		return ""
	}
	executing, _ := pack(begun, f.birth)
	return framed(known, expiry, bounds, string(executing))
}

// bounds writes those of a claim as the script takes them.
func (c *effectCall) bounds(b machine.Begin) string {
	if b.CreateBefore.IsZero() && b.CreateFrom.IsZero() {
		return ""
	}
	return c.store.bound(b.CreateBefore) + "," + c.store.bound(b.CreateFrom)
}

// meet reads what is there instead of what the script was to find.
func (c *effectCall) meet(ctx context.Context, message rueidis.RedisMessage) (found, error) {
	if message.IsArray() {
		return c.store.read(ctx, c.target, message)
	}
	return c.store.load(ctx, c.target, nil)
}

// ended returns what came of an effect that ran.
func (t *effectTry) ended(state machine.State, text string, expiry, age int64) (store.Effect, machine.Reply, error) {
	if state != machine.Completed {
		return store.Effect{}, machine.Reply{}, t.call.failed(state, text)
	}
	response, reply := machine.NewResponse(EffectCodec, []byte(text)), t.reply
	if expiry == 0 { // nobody asked
		reply.At, reply.Finished, reply.WindowEnd, reply.RememberUntil, reply.LeaseEnd = 0, 0, 0, 0, 0
		return store.Effect{Response: response, Scope: t.begun.Scope, Reply: reply}, reply, nil
	}
	birth := t.call.store.instant(expiry - nominalLife)
	began := birth
	if t.claim.Seen == 0 {
		began = anyBirth // says the record that was sent
	}
	v, hold := t.call.invocation, t.call.invocation.Hold(t.call.candidate, t.begun.Attempt, t.begun.Revision)
	_, reply = machine.Step(t.begun, v.Complete(hold, response), (began + machine.Instant(age*1000)).Time())
	shift(birth-began, &reply.At, &reply.Finished, &reply.WindowEnd, &reply.RememberUntil, &reply.LeaseEnd)
	return store.Effect{Response: response, Scope: t.begun.Scope, Reply: reply}, reply, nil
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
	effectStray         // what decides it has returned something else than noEffect(…)
)

func readEffect(message rueidis.RedisMessage) (state machine.State, text string, expiry, age int64, kind int) {
	if n, err := message.AsInt64(); err == nil {
		switch n {
		case replyOther:
			kind = effectMet
		case replyBarred:
			kind = effectBarred
		case replyLost:
			kind = effectLost
		default:
			text, kind = strconv.FormatInt(n, 10), effectStray
		}
		return state, text, expiry, age, kind
	}
	if text, err := message.ToString(); err == nil || message.IsNil() {
		if answer, ran := strings.CutPrefix(text, "\x01"); ran {
			return machine.Completed, answer, 0, 0, effectRan
		}
		return state, text, 0, 0, effectStray
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
