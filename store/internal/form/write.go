package form

import (
	"math"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Write is one record that is written with others: a new one, or the answer of one that is known. What
// comes of it is decided before it is sent, at a time that stands for the server's: a packed record has no
// time of its own, and everything else is moved to the server's time afterwards.
type Write struct {
	Digest machine.Digest
	Packed Row
	Known  *gather.Remembered // of an answer: what it is the answer to

	// Of a new record: when it may be made (before is exclusive), and how long after its claim it is
	// forgotten, zero for never.
	Since, Before machine.Instant
	Forget        machine.Instant
	// Of an answer: how long after it is written it is forgotten.
	Remember machine.Instant

	// What is decided, and when.
	Next  *machine.Record
	Reply machine.Reply
	Stood machine.Instant

	// What became of it. Neither written nor in Doubt: it was left alone, and nothing has changed.
	Written bool
	At      machine.Instant // by the server's clock
	Doubt   error
}

// NewRecord returns the write of a new record. Whether it is within the claim's bounds the server decides.
func NewRecord(c machine.Claim, command machine.Command) *Write {
	w := &Write{Digest: c.Scope.Digest, Since: c.CreateFrom, Before: c.CreateBefore, Stood: machine.InstantOf(time.Now())}
	if w.Before == 0 {
		w.Before = math.MaxInt64
	}
	w.Next, w.Reply = machine.Step(nil, unbounded(command), w.Stood.Time())
	w.Packed = Pack(w.Next)
	if end := w.Next.ForgottenAt(); end != 0 {
		w.Forget = end - w.Stood
	}
	return w
}

// unbounded returns a claim without its bounds.
func unbounded(command machine.Command) machine.Command {
	switch c := command.(type) {
	case machine.Claim:
		c.CreateBefore, c.CreateFrom = 0, 0
		return c
	case machine.Begin:
		c.CreateBefore, c.CreateFrom = 0, 0
		return c
	}
	return command
}

// NewAnswer returns the write of an answer; nil if the machine, on what is known, decides otherwise.
func NewAnswer(known *gather.Remembered, c machine.Complete) *Write {
	w := &Write{Digest: c.Scope.Digest, Known: known, Stood: machine.InstantOf(time.Now())}
	w.Next, w.Reply = machine.Step(known.Record, c, w.Stood.Time())
	if w.Reply.Outcome != machine.CompletedNow {
		return nil
	}
	w.Packed, w.Remember = Pack(w.Next), w.Next.RememberUntil-w.Next.Finished
	return w
}

// Settle moves what was decided to the time at which it was written.
func (w *Write) Settle() (*machine.Record, machine.Reply) {
	times := []*machine.Instant{&w.Next.Claimed, &w.Next.LeaseEnd, &w.Next.Started, &w.Reply.At, &w.Reply.LeaseEnd}
	if w.Known != nil {
		times = []*machine.Instant{
			&w.Next.Finished, &w.Next.WindowEnd, &w.Next.RememberUntil,
			&w.Reply.At, &w.Reply.Finished, &w.Reply.WindowEnd, &w.Reply.RememberUntil,
		}
	}
	for _, t := range times {
		if !t.IsZero() {
			*t += w.At - w.Stood
		}
	}
	return w.Next, w.Reply
}
