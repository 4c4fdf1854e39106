package faulttest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// searching is how long the search for an order may take, for each key.
const searching = 10 * time.Second

// check looks, for each key, for one order of all commands in which [machine.Step] gives the very replies
// that were given:
//
//   - A command with a reply happened once, between its call and its end, at the time of the reply.
//   - One that was unavailable did not happen.
//   - One that is in doubt happened once, at any moment from its call until the end of the history, or never.
//
// With copies, what was under way when the fault struck may have happened once more: the network held it,
// and delivered it after the store had sent it again.
//
// It breaches the report. The search grows with the number of commands in doubt, and is given up after a time;
// what was not found out is counted.
func (h *history) check(r *report, copies bool) {
	all := h.exchanges()
	keys := map[machine.Digest][]exchange{}
	for _, x := range all {
		if x.end == pending || !errors.Is(x.err, store.ErrUnavailable) {
			keys[x.command.Target().Digest] = append(keys[x.command.Target().Digest], x)
		}
	}
	for digest, exchanges := range keys {
		switch linear(exchanges, copies, h.fades) {
		case porcupine.Illegal:
			r.breach("the commands on key %.8v have no order in which machine.Step gives these replies:\n%s", digest, describe(all, digest))
		case porcupine.Unknown:
			r.open()
		}
	}
}

func linear(exchanges []exchange, copies, fades bool) porcupine.CheckResult {
	seen := sightings(exchanges)
	var operations []porcupine.Operation
	var doubted []machine.Command
	for i := range exchanges {
		x := &exchanges[i]
		known := x.end != pending && x.err == nil
		if known {
			operations = append(operations, porcupine.Operation{Input: &input{exchange: x, fades: fades}, Call: x.call, Return: x.end})
		}
		if x.command.Kind() != machine.KindInspect && (!known || copies && x.hit) && few(doubted, x.command) {
			doubted = append(doubted, x.command)
			operations = append(operations, porcupine.Operation{Input: &input{exchange: x, doubtful: true, times: seen.times(x), until: seen.last()}, Call: x.call, Return: pending})
		}
	}
	return porcupine.CheckOperationsTimeout(model, operations, searching)
}

// few reports whether a command that is in doubt is worth looking at. Of equal ones the first two are: they may
// happen at any time after they were sent, and none has an effect more often.
func few(doubted []machine.Command, c machine.Command) bool {
	equal := 0
	for _, other := range doubted {
		if reflect.DeepEqual(other, c) {
			equal++
		}
	}
	return equal < 2
}

// input is a command as the model takes it.
type input struct {
	*exchange
	fades    bool // a record that counts as absent may be gone
	doubtful bool
	times    []machine.Instant // at which one in doubt may have happened
	until    machine.Instant   // the history's end
}

// model is machine.Step. Its states are sets of what the record may be.
var model = porcupine.Model{
	Init: func() any { return states{stateOf(nil)} },
	Step: func(before, in, _ any) (bool, any) {
		after := in.(*input).step(before.(states))
		return len(after) > 0, after
	},
	Equal: func(a, b any) bool { return slices.EqualFunc(a.(states), b.(states), same) },
	Hash: func(s any) uint64 {
		var sum uint64
		for _, one := range s.(states) {
			sum = sum*31 + one.hash
		}
		return sum
	},
}

// states are different from each other, in an order of their own.
type states []state

// state is a record, with its stored form to compare it by.
type state struct {
	record *machine.Record // nil: none
	packed string
	hash   uint64
}

func stateOf(r *machine.Record) state {
	packed := packed(r)
	return state{r, packed, maphash.String(seed, packed)}
}

var seed = maphash.MakeSeed()

// packed returns the stored form of a record. Its generation is the store's, and Step does not know it.
func packed(r *machine.Record) string {
	if r == nil {
		return ""
	}
	plain := *r
	plain.Generation = machine.Generation{}
	b, _ := plain.AppendBinary(make([]byte, 0, 256)) // never fails
	return string(b)
}

func same(a, b state) bool { return a.packed == b.packed }

func (s states) with(one state) states {
	at, there := slices.BinarySearchFunc(s, one, func(a, b state) int { return strings.Compare(a.packed, b.packed) })
	if there {
		return s
	}
	return slices.Insert(s, at, one)
}

// step returns what the record may be after a command: nothing if it cannot have been answered like this.
func (in *input) step(before states) states {
	var after states
	for _, s := range before {
		if !in.doubtful {
			if next, ok := in.answered(s); ok {
				after = after.with(next)
			}
			continue
		}
		after = after.with(s) // it never happened
		for _, at := range append(borders(s.record, in.after, in.until), in.times...) {
			next, _ := machine.Step(s.record, in.command, at.Time())
			after = after.with(s.to(next))
		}
	}
	return after
}

// answered returns what the record is after a command that was answered, if it can have been answered like this.
func (in *input) answered(s state) (state, bool) {
	at := in.reply.At
	next, want := machine.Step(s.record, in.command, at.Time())
	switch gone, _ := s.record.Judge(at); {
	case sameReply(want, in.reply):
		return s.to(next), true
	case in.hit && answersFirst(in.reply, want):
		return s, true
	case in.fades && gone == machine.Absent:
		next, want := machine.Step(nil, in.command, at.Time())
		return stateOf(next), sameReply(want, in.reply)
	}
	return s, false
}

// answersFirst reports whether a command that was done before is answered as if it had just been done. A
// store that has lost the reply, and finds what the command leads to, cannot tell whether an equal one was
// first; and it makes no difference to anybody.
func answersFirst(got, want machine.Reply) bool {
	switch want.Outcome {
	case machine.ReplayedAcquire, machine.AlreadyStarted, machine.AlreadyRenewed, machine.AlreadyCompleted, machine.AlreadyFailed, machine.AlreadySettled:
		return got.Outcome.Applied() && got.Revision == want.Revision && got.Attempt == want.Attempt && got.LeaseEnd == want.LeaseEnd
	}
	return false
}

// to returns the state of a record that Step made of this one's.
func (s state) to(next *machine.Record) state {
	if next == s.record {
		return s
	}
	return stateOf(next)
}

func sameReply(a, b machine.Reply) bool {
	if a.Outcome != b.Outcome || a.Revision != b.Revision || packed(a.Record) != packed(b.Record) || !bytes.Equal(a.Response.Data, b.Response.Data) {
		return false
	}
	a.Record, b.Record, a.Response.Data, b.Response.Data = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

// describe tells the history of a key.
func describe(all []exchange, digest machine.Digest) string {
	var b strings.Builder
	for _, x := range all {
		if x.command.Target().Digest != digest {
			continue
		}
		fmt.Fprintf(&b, "\t%4d", x.call)
		if x.end != pending {
			fmt.Fprintf(&b, "–%-4d", x.end)
		} else {
			b.WriteString("–…   ")
		}
		fmt.Fprintf(&b, " %s → %s\n", brief(x.command), outcome(x))
	}
	return b.String()
}

func outcome(x exchange) string {
	switch {
	case x.end == pending:
		return "no reply yet"
	case x.err != nil:
		return x.err.Error()
	}
	r := x.reply
	text := fmt.Sprintf("%v at %d: %v attempt %d revision %d lease %d", r.Outcome, r.At, r.State, r.Attempt, r.Revision, r.LeaseEnd)
	if r.Record != nil {
		text += fmt.Sprintf(" %+v", *r.Record)
	}
	return text
}

// brief names a command and whose it is.
func brief(c machine.Command) string {
	switch c := c.(type) {
	case machine.Claim:
		return fmt.Sprintf("claim of %.3x seen %d", c.Owner, c.Seen)
	case machine.Begin:
		return fmt.Sprintf("begin of %.3x/%.2x seen %d", c.Owner, c.Nonce, c.Seen)
	case machine.Start:
		return fmt.Sprintf("start of %v", tenure(c.Hold))
	case machine.Renew:
		return fmt.Sprintf("renew of %v by %v", tenure(c.Hold), c.Lease)
	case machine.Complete:
		return fmt.Sprintf("complete of %v with %q", tenure(c.Hold), c.Response.Data)
	case machine.Fail:
		return fmt.Sprintf("fail of %v, no effect %v", tenure(c.Hold), c.NoEffect)
	case machine.Release:
		return fmt.Sprintf("release of %v", tenure(c.Hold))
	case machine.Settle:
		return fmt.Sprintf("settle revision %d as completed %v", c.Revision, c.Completed)
	}
	return c.Kind().String()
}

func tenure(h machine.Hold) string {
	return fmt.Sprintf("%.3x/%.2x attempt %d revision %d", h.Owner, h.Nonce, h.Attempt, h.Revision)
}
