package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyCommand draws commands that often fit the record: of two callers, near its revision.
func anyCommand(t *rapid.T, r *Record) Command {
	who := rapid.SampledFrom([]string{"a", "b"})
	h := testHold(who.Draw(t, "who"), 1)
	h.Nonce = Nonce(idOf(who.Draw(t, "invocation")))
	claim := testClaim("a")
	claim.Owner, claim.Operation = h.Owner, h.Operation
	claim.Interruption = Interruption(rapid.IntRange(0, 1).Draw(t, "interruption"))
	claim.Lease = rapid.SampledFrom([]time.Duration{time.Second, lease}).Draw(t, "lease")
	if r != nil {
		back := rapid.SampledFrom([]uint64{0, 0, 1}).Draw(t, "revisions back")
		h.Revision, h.Attempt = max(1, r.Revision-back), r.Attempt
		claim.Seen = r.Revision - back
	}
	response := NewResponse("text/1", []byte(who.Draw(t, "answer")))
	return rapid.SampledFrom([]Command{
		claim, Begin{claim, h.Nonce}, Begin{claim, h.Nonce}, Start{h, claim.Lease}, Renew{h, claim.Lease},
		Complete{h, response, window, remember}, Fail{Hold: h, Reason: "r"}, Fail{Hold: h, NoEffect: true, Reason: "r", Remember: remember},
		Release{h}, Inspect{testScope}, Forget{testScope},
		Settle{Scope: testScope, Operation: h.Operation, Revision: h.Revision, Completed: true, Response: response, Window: window, Remember: remember, Who: "w", Why: "y"},
		Settle{Scope: testScope, Operation: h.Operation, Revision: h.Revision, Remember: remember, Who: "w", Why: "y"},
	}).Draw(t, "command")
}

// What holds for every step of every history.
func TestEveryStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var record *Record
		now := noon
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Microsecond, time.Second, lease, window, remember}).Draw(t, "wait"))
			command := anyCommand(t, record)
			var before *Record
			if record != nil {
				copied := *record
				before = &copied
			}
			next, reply := Step(record, command, now)
			if !cmp.Equal(before, record) {
				t.Fatalf("%v changed the record that it was given:\n%s", command.Kind(), cmp.Diff(before, record))
			}
			checkStep(t, record, next, command, reply, now)
			record = next
		}
	})
}

func checkStep(t *rapid.T, before, next *Record, command Command, reply Reply, now time.Time) {
	at := InstantOf(now)
	state, _ := before.Judge(at)
	if reply.At != at {
		t.Fatalf("decided at %v, told %v", at, reply.At)
	}
	began := reply.Outcome == ReplayedAcquire && next != before
	if changed := next != before; changed != reply.Outcome.Applied() && !began {
		t.Fatalf("%v: %v, changed %v", command.Kind(), reply.Outcome, changed)
	}
	switch {
	case next == before:
	case next == nil:
		if state != Claimed && state != Absent {
			t.Fatalf("%v deleted a record that is %v", command.Kind(), state)
		}
	default:
		from := uint64(0)
		if state != Absent {
			from = before.Revision
			checkKept(t, before, next, command)
		}
		if next.Revision != from+1 || next.Last.Kind != command.Kind() || next.Last.FromRevision != from {
			t.Fatalf("%v: from revision %d to %d, last %+v", command.Kind(), from, next.Revision, next.Last)
		}
		if reply.Revision != next.Revision || reply.Attempt != next.Attempt {
			t.Fatalf("%v: told attempt %d revision %d of %+v", command.Kind(), reply.Attempt, reply.Revision, next)
		}
		checkRetry(t, next, command, now)
	}
	// A claim and an inspection at one instant agree.
	after, _ := next.Judge(at)
	if _, inspected := Step(next, Inspect{testScope}, now); inspected.State != after {
		t.Fatalf("judged %v, inspected %v", after, inspected.State)
	}
	if reply.Revision != 0 && reply.State != after {
		t.Fatalf("%v: told %v, inspected %v", command.Kind(), reply.State, after)
	}
}

// checkKept shows what no command takes from a record that is there.
func checkKept(t *rapid.T, before, next *Record, command Command) {
	if next.Scope != before.Scope || next.Fingerprint != before.Fingerprint {
		t.Fatalf("%v changed whose record it is, or the request", command.Kind())
	}
	taken := command.Kind() == KindClaim || command.Kind() == KindBegin && next.Attempt != before.Attempt
	if !taken && (next.Attempt != before.Attempt || next.Operation != before.Operation || next.Claimed != before.Claimed) {
		t.Fatalf("%v changed the tenure", command.Kind())
	}
	if taken && next.Attempt != before.Attempt+1 {
		t.Fatalf("%v: attempt %d after %d", command.Kind(), next.Attempt, before.Attempt)
	}
}

// checkRetry sends a command that was applied again, at the same instant: nothing changes.
func checkRetry(t *rapid.T, record *Record, command Command, now time.Time) {
	again, reply := Step(record, command, now)
	if again != record {
		t.Fatalf("%v, sent again, changed the record: %v", command.Kind(), reply.Outcome)
	}
	switch reply.Outcome {
	case ReplayedAcquire, AlreadyStarted, AlreadyRenewed, AlreadyCompleted, AlreadyFailed, AlreadySettled:
	default:
		t.Fatalf("%v, sent again: %v", command.Kind(), reply.Outcome)
	}
	if reply.Revision != record.Revision {
		t.Fatalf("%v, sent again, tells revision %d of %d", command.Kind(), reply.Revision, record.Revision)
	}
}
