package store

import (
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/machine"
)

// Effect is what came of an action whose writes commit together with its record: the answer, of this
// action or of an earlier one. Every store that can do that returns it from its function Do. Where there
// is no answer, Do returns an error: the action's own, a [*Refusal], [ErrSerialization], [ErrUnavailable]
// when nothing was committed, or [ErrIndeterminate] when nobody could find out.
type Effect struct {
	// Response is the answer. It is shared: do not change it.
	Response machine.Response
	// Replayed says that the answer is on record from before, and this action was not run, or was and
	// everything it wrote was rolled back.
	Replayed bool
	// Scope names the record.
	Scope machine.Scope
	// Reply is what the machine answered: [machine.CompletedNow], or [machine.Replay].
	Reply machine.Reply
}

// ErrSerialization: a transaction conflicts with another one. Nothing of it will be committed. Roll it
// back and run all of it again, with an invocation prepared anew.
var ErrSerialization = errors.New("transaction conflicts with another: roll it back, and run all of it again")

// Refusal is the error of an action that was not run because of the record of its key.
type Refusal struct {
	Scope machine.Scope
	// Reply says why; [machine.InProgress] without a revision means that another transaction, which is
	// still open, holds the key.
	Reply machine.Reply
}

// Error implements error.
func (r *Refusal) Error() string {
	switch r.Reply.Outcome {
	case machine.InProgress:
		if r.Reply.Revision == 0 {
			return "the key is in progress in another transaction: try again"
		}
		return fmt.Sprintf("the key is in progress until %v: try again after that", r.Reply.LeaseEnd)
	case machine.RecoveryRequired:
		return fmt.Sprintf("nobody knows whether the key's effect happened (%s): look with `reprise ops show %v`", r.Reply.Reason, r.Scope.Digest)
	case machine.Barred:
		return "the invocation is too old to make a record: prepare another, and run all of it again"
	case machine.Invalid:
		return "the invocation is invalid: " + r.Reply.Reason
	}
	if r.Reply.Reason != "" {
		return fmt.Sprintf("the key's record refuses: %v: %s", r.Reply.Outcome, r.Reply.Reason)
	}
	return fmt.Sprintf("the key's record refuses: %v", r.Reply.Outcome)
}

// Decide begins an invocation on the records of its candidates, which a store has locked and loaded in
// their order (nil: none), at the store's time. If granted, next is the record of the candidate with that
// index, to be ended by [Invocation.Finish] in the same transaction; else the reply is the answer. A
// record that was given up is taken over: under the locks, nobody can have come in between.
func (v *Invocation) Decide(records []*machine.Record, at machine.Instant) (candidate int, next *machine.Record, reply machine.Reply, granted bool) {
	for i, record := range records {
		candidate = i
		next, reply = machine.Step(record, v.Begin(i, 0), at.Time())
		if reply.Outcome == machine.Takeable {
			next, reply = machine.Step(record, v.Begin(i, reply.Revision), at.Time())
		}
		if reply.Outcome != machine.Barred {
			return i, next, reply, next != record
		}
	}
	return candidate, nil, reply, false
}

// Finish ends with an answer what [Invocation.Decide] has begun. A reply other than
// [machine.CompletedNow] means that the answer or the invocation makes no sense.
func (v *Invocation) Finish(candidate int, begun *machine.Record, response machine.Response, at machine.Instant) (*machine.Record, machine.Reply) {
	return machine.Step(begun, v.Complete(v.Hold(candidate, begun.Attempt, begun.Revision), response), at.Time())
}

// Answered returns the effect, or the refusal, of an invocation that was not granted.
func (v *Invocation) Answered(candidate int, reply machine.Reply) (Effect, error) {
	var scope machine.Scope
	if candidate < len(v.Candidates) {
		scope = v.Candidates[candidate].Scope
	}
	if reply.Outcome == machine.Replay {
		return Effect{Response: reply.Response, Replayed: true, Scope: scope, Reply: reply}, nil
	}
	return Effect{}, &Refusal{Scope: scope, Reply: reply}
}
