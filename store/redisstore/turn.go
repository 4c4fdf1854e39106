package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// errand is what a caller wants of a round.
type errand byte

const (
	looks    errand = iota // the record, if there is one
	claims                 // the same; and a new one, if there is none and it is time for that
	finishes               // that a record becomes another one
)

// roundFound is how much of a record a round reads: with larger ones it would keep others waiting.
const roundFound = 16 << 10

// turn is what one caller wants of a round.
type turn struct {
	errand     errand
	keys       []string // of the record, and of its bucket's generation
	generation machine.Generation
	packed     []byte // the new record

	// Only of a claim: when it makes one, in milliseconds of the server's clock; empty for no bound.
	before, from string

	// Only of what finishes a record.
	known []byte // the head of that, without its first byte
	life  int64  // of the new record, from now, in milliseconds

	// What came of it.
	lost  bool   // the bucket has another generation
	done  bool   // the record was written
	now   int64  // the server's time, in milliseconds, as is until
	found []byte // the record that was there: nil for none
	until int64  // when that expires
}

// cut reports whether the record that was found may go on.
func (t *turn) cut() bool { return len(t.found) == roundFound }

// in notes whether the record's bucket has the generation that this process knows.
func (t *turn) in(generation rueidis.RedisMessage) {
	value, err := generation.ToString()
	t.lost = err != nil || value != string(t.generation[:])
}

// met notes the record that was there.
func (t *turn) met(record, expiry rueidis.RedisMessage) error {
	found, err := record.AsBytes()
	if err != nil || len(found) == 0 {
		return err
	}
	t.found = found
	t.until, err = expiry.AsInt64()
	return err
}

// claimed notes what a claim has made or found.
func (t *turn) claimed(reply rueidis.RedisMessage) error {
	if reply.IsInt64() {
		t.done = true
		return nil
	}
	parts, err := reply.ToArray()
	if err == nil && len(parts) != 2 {
		err = errRound
	}
	if err != nil {
		return err
	}
	return t.met(parts[0], parts[1])
}

// finished notes whether a record was replaced.
func (t *turn) finished(code rueidis.RedisMessage) error {
	n, err := code.AsInt64()
	t.done = n == 1
	return err
}

type jobs []*gather.Job[turn]

// party is who shares a round, by what they want.
type party struct{ looks, claims, finishes jobs }

func parted(all jobs) (p party) {
	for _, j := range all {
		switch j.Work.errand {
		case looks:
			p.looks = append(p.looks, j)
		case claims:
			p.claims = append(p.claims, j)
		default:
			p.finishes = append(p.finishes, j)
		}
	}
	return p
}

func (p party) each(do func(*gather.Job[turn])) {
	for _, all := range []jobs{p.looks, p.claims, p.finishes} {
		for _, j := range all {
			do(j)
		}
	}
}

func (p party) size() int { return len(p.looks) + len(p.claims) + len(p.finishes) }

// keys are those of the records.
func (all jobs) keys() []string {
	keys := make([]string, len(all))
	for i, j := range all {
		keys[i] = j.Work.keys[0]
	}
	return keys
}

// claimArgs are the arguments of claim.lua.
func (all jobs) claimArgs() []string {
	args := make([]string, 0, 2+3*len(all))
	args = append(args, nominal, strconv.Itoa(roundFound-1))
	for _, j := range all {
		args = append(args, rueidis.BinaryString(j.Work.packed), j.Work.before, j.Work.from)
	}
	return args
}

// finishArgs are the arguments of finish.lua.
func (all jobs) finishArgs() []string {
	args := make([]string, 0, 3*len(all))
	for _, j := range all {
		args = append(args, rueidis.BinaryString(j.Work.known), rueidis.BinaryString(j.Work.packed), strconv.FormatInt(j.Work.life, 10))
	}
	return args
}

// errRound is a reply that nobody expects.
var errRound = errors.New("the reply of Redis has another form than expected")

// understand tells each what came of its turn, and returns those whose script the server does not know: nothing was done for them.
func (p party) understand(ctx context.Context, all []rueidis.RedisMessage) (unknown party, err error) {
	if len(all) != 2+2*len(p.looks)+min(1, len(p.claims))+min(1, len(p.finishes)) {
		return unknown, errRound
	}
	generations, err := all[0].ToArray()
	if err != nil {
		return unknown, err
	}
	now, err := timeOf(all[1])
	if err != nil || len(generations) != p.size() {
		return unknown, errors.Join(errRound, err)
	}
	next := 0
	p.each(func(j *gather.Job[turn]) {
		j.Work.in(generations[next])
		next++
	})
	all = all[2:]
	for i, j := range p.looks {
		j.Work.now = now
		j.Err = unavailable(j.Work.met(all[2*i], all[2*i+1]))
	}
	all = all[2*len(p.looks):]
	if len(p.claims) > 0 {
		unknown.claims = p.claims.understand(ctx, all[0], (*turn).claimed)
		all = all[1:]
	}
	if len(p.finishes) > 0 {
		unknown.finishes = p.finishes.understand(ctx, all[0], (*turn).finished)
	}
	return unknown, nil
}

// understand tells each of those for whom a script was run what came of its turn. It returns them if the server does not know the
// script.
func (all jobs) understand(ctx context.Context, reply rueidis.RedisMessage, note func(*turn, rueidis.RedisMessage) error) (unknown jobs) {
	replies, err := reply.ToArray()
	if said, ok := rueidis.IsRedisErr(err); ok && said.IsNoScript() {
		return all
	}
	if err == nil && len(replies) != 1+len(all) {
		err = errRound
	}
	var now int64
	if err == nil {
		now, err = replies[0].AsInt64()
	}
	for i, j := range all {
		if j.Err = sent(ctx, err); err == nil {
			j.Work.now = now
			j.Err = unavailable(note(j.Work, replies[1+i]))
		}
	}
	return nil
}

// timeOf reads the reply to TIME, in milliseconds. One without a time is an error: it would be before everything.
func timeOf(message rueidis.RedisMessage) (ms int64, err error) {
	parts, err := message.AsIntSlice()
	if err != nil || len(parts) != 2 || parts[0] <= 0 {
		return 0, errors.Join(errRound, err)
	}
	return parts[0]*1000 + parts[1]/1000, nil
}

// unavailable translates the error of a command that was refused by itself, in a transaction.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return store.Unavailable(explain(err))
}
