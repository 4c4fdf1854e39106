package machine

import (
	"testing"
	"time"
)

// A lease counts from the command that was granted it, and not from the claim before it.
func TestALeaseCountsFromItsCommand(t *testing.T) {
	t.Parallel()
	claimed := run(t, testClaim("a"), Acquired)
	const later = 20 * time.Second
	for _, command := range []Command{
		Start{testHold("a", 1), lease},
		Begin{testClaim("a"), Nonce(idOf("a"))},
		Renew{testHold("a", 1), lease},
	} {
		next, reply := Step(claimed, command, noon.Add(later))
		want := InstantOf(noon.Add(later + lease))
		if next == claimed || next.LeaseEnd != want || reply.LeaseEnd != want {
			t.Errorf("%v: %v, to %v, the record to %v; want %v", command.Kind(), reply.Outcome, reply.LeaseEnd, next.LeaseEnd, want)
		}
	}
}

// A takeover keeps the fingerprint of the first claim: it was compared by the rules of that time, and a caller that knows only those is to
// compare as before.
func TestTakeoverKeepsTheFingerprint(t *testing.T) {
	t.Parallel()
	before := failedBy(t, "a", true)
	newer := testClaim("b")
	newer.Seen, newer.Fingerprints = before.Revision, append([]Fingerprint{{Version: 2, Sum: Digest{2}}}, requestOf("request")...)
	after, reply := Step(before, newer, noon)
	if reply.Outcome != TakenOver || after.Fingerprint != before.Fingerprint {
		t.Fatalf("%v, fingerprint %+v after %+v", reply.Outcome, after.Fingerprint, before.Fingerprint)
	}
	if _, reply := Step(after, testClaim("c"), noon); reply.Outcome != InProgress {
		t.Errorf("the same request by the older rules: %v", reply.Outcome)
	}
}

// A record that was settled is nobody's: neither its owner nor its invocation is left in it.
func TestASettledRecordIsNobodys(t *testing.T) {
	t.Parallel()
	for _, happened := range []bool{true, false} {
		next, reply := Step(failedBy(t, "a", false), Settle{
			Scope: testScope, Operation: idOf("o"), Revision: 2, Completed: happened, Response: NewResponse("text/1", nil), Remember: remember, Who: "w", Why: "y",
		}, noon)
		if reply.Outcome != SettledNow || !next.Owner.IsZero() || !next.Nonce.IsZero() {
			t.Errorf("happened %v: %v, %+v", happened, reply.Outcome, next)
		}
	}
}

// Once a record was started, a command that names no invocation speaks for none.
func TestAStartedRecordWantsItsInvocation(t *testing.T) {
	t.Parallel()
	record := executingBy(t, "a", Quarantine)
	hold := testHold("a", 1)
	hold.Nonce = Nonce{}
	for _, command := range []Command{
		Renew{hold, lease}, Complete{hold, NewResponse("text/1", nil), window, remember}, Fail{Hold: hold}, Fail{Hold: hold, NoEffect: true, Remember: remember}, Release{hold},
	} {
		if next, reply := Step(record, command, noon); reply.Outcome != NotOwner || next != record {
			t.Errorf("%v: %v", command.Kind(), reply.Outcome)
		}
	}
}

// A record is of the generation of its last claim: what a store has lost since is not believed.
func TestARecordIsOfItsClaimsGeneration(t *testing.T) {
	t.Parallel()
	first, second := testClaim("a"), testClaim("b")
	first.Generation, second.Generation, second.Seen = Generation{1}, Generation{2}, 2
	record := run(t, Begin{first, Nonce(idOf("a"))}, Acquired, Fail{Hold: testHold("a", 1), NoEffect: true, Remember: remember}, Failed)
	if record.Generation != first.Generation {
		t.Errorf("claimed: %v", record.Generation)
	}
	if next, reply := Step(record, second, noon); reply.Outcome != TakenOver || next.Generation != second.Generation {
		t.Errorf("%v: %v", reply.Outcome, next.Generation)
	}
}
