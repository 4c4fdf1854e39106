package explore

import (
	"slices"
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// model is a setting with what its worlds refer to. It belongs to one goroutine.
type model struct {
	Setting
	step Step

	allFlows   table[flow.Flow, flow.Flow]
	allRecords table[recordKey, *machine.Record]
	allReplies table[replyKey, machine.Reply]
	steps      map[stepKey]stepped
	alone      map[aloneKey]bool

	fades    bool // a record of the key can be absent again
	shared   bool // an owner token is
	verdicts map[flow.Verdict]int
	outcomes map[machine.Outcome]int
}

func newModel(s Setting, step Step) *model {
	m := &model{Setting: s, step: step, steps: map[stepKey]stepped{}, alone: map[aloneKey]bool{},
		verdicts: map[flow.Verdict]int{}, outcomes: map[machine.Outcome]int{}}
	m.fades = s.Retryable > 0 || slices.ContainsFunc(s.Callers, func(c Caller) bool { return c.Late })
	m.shared = slices.ContainsFunc(s.Callers, func(c Caller) bool { return c.Resumes })
	m.allRecords.number(recordKey{}, nil)
	m.allReplies.number(replyKey{}, machine.Reply{})
	m.allFlows.number(flow.Flow{}, flow.Flow{})
	return m
}

// table numbers values by what makes them different. Number 0 is the zero value.
type table[K comparable, V any] struct {
	numbers map[K]uint32
	values  []V
}

func (t *table[K, V]) number(k K, v V) uint32 {
	n, ok := t.numbers[k]
	if !ok {
		if t.numbers == nil {
			t.numbers = map[K]uint32{}
		}
		n = uint32(len(t.values))
		t.numbers[k] = n
		t.values = append(t.values, v)
	}
	return n
}

// recordKey is all of a record on which a reply can depend.
type recordKey struct {
	present      bool
	state        machine.State
	scope        machine.Scope
	owner        machine.Digest
	attempt      uint32
	revision     uint64
	operation    machine.ID
	nonce        machine.Nonce
	fingerprint  machine.Fingerprint
	interruption machine.Interruption
	lease        machine.Instant // while the record is unfinished
	window       machine.Instant // zero where none of the setting ends
	remember     machine.Instant // likewise
	reason       string
	codec        string
	answer       machine.Digest
	last         machine.Transition
}

func (m *model) keyOfRecord(r *machine.Record) recordKey {
	if r == nil {
		return recordKey{}
	}
	k := recordKey{
		present: true, state: r.State, scope: r.Scope, owner: r.Owner, attempt: r.Attempt, revision: r.Revision,
		operation: r.Operation, nonce: r.Nonce, fingerprint: r.Fingerprint, interruption: r.Interruption,
		reason: r.Reason, codec: r.Response.Codec, answer: r.Response.Digest, last: r.Last,
	}
	if r.State != machine.Completed && r.State != machine.Retryable {
		k.lease = r.LeaseEnd
	}
	if m.Window != 0 {
		k.window = r.WindowEnd
	}
	if m.Retryable != 0 && r.State == machine.Retryable {
		k.remember = r.RememberUntil
	}
	return k
}

// replyKey is all of a reply on which a flow can depend.
type replyKey struct {
	outcome  machine.Outcome
	state    machine.State
	attempt  uint32
	revision uint64
	lease    time.Duration // what is left of it
	yours    bool
	answer   machine.Digest
	record   uint32
}

func (m *model) numberOfReply(r machine.Reply) uint32 {
	k := replyKey{outcome: r.Outcome, state: r.State, attempt: r.Attempt, revision: r.Revision, yours: r.Yours, answer: r.Response.Digest}
	if r.State == machine.Claimed || r.State == machine.Executing {
		k.lease = r.LeaseEnd.Sub(r.At)
	}
	if r.Record != nil {
		k.record = m.numberOfRecord(r.Record)
	}
	return m.allReplies.number(k, r)
}

func (m *model) numberOfRecord(r *machine.Record) uint32 {
	return m.allRecords.number(m.keyOfRecord(r), r)
}

// longPast returns a record whose lease ended so long ago that nobody asks when, with one end for all.
func (m *model) longPast(n uint32, now uint8) uint32 {
	r := m.allRecords.values[n]
	if r == nil || int(now) < tickOf(r.LeaseEnd)+longest || r.LeaseEnd == past {
		return n
	}
	old := *r
	old.LeaseEnd = past
	return m.numberOfRecord(&old)
}

const past machine.Instant = 1

func (m *model) record(w *world, candidate int) *machine.Record {
	return m.allRecords.values[w.records[candidate]]
}

// candidates is how many scopes the key has.
func (m *model) candidates() int {
	if m.Rotate > 0 {
		return 2
	}
	return 1
}

type stepKey struct {
	record uint32
	order  order
	now    uint8
}

// stepped is what came of a command on a record.
type stepped struct {
	record, reply uint32
	broken        string
}

// apply decides a command on a record. Step is pure, so each decision is made and judged once.
func (m *model) apply(record uint32, o order, now uint8) stepped {
	key := stepKey{record, o, now}
	if s, ok := m.steps[key]; ok {
		return s
	}
	before := m.allRecords.values[record]
	after, reply := m.step(before, m.command(o), instant(now))
	m.outcomes[reply.Outcome]++
	s := stepped{record: record, reply: m.numberOfReply(reply)}
	if !m.Blind {
		s.broken = m.judgeStep(before, o, now, after, reply)
	}
	if after != before {
		s.record = m.numberOfRecord(after)
	}
	m.steps[key] = s
	return s
}
