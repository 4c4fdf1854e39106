package machine

import (
	"strings"
	"testing"
	"time"
)

// digestOf is the digest that a command leaves in the record, or would.
func digestOf(t *testing.T, record *Record, command Command) Digest {
	t.Helper()
	next, reply := Step(record, command, noon)
	if next == record || next == nil {
		t.Fatalf("%v was not applied: %v %s", command.Kind(), reply.Outcome, reply.Reason)
	}
	return next.Last.Digest
}

// Every argument that a transition decides is in its digest, so that a retry with another one is told.
func TestEachArgumentIsInTheDigest(t *testing.T) {
	t.Parallel()
	executing, abandoned := executingBy(t, "a", Quarantine), failedBy(t, "a", false)
	claimed := run(t, testClaim("a"), Acquired)
	claim := testClaim("a")
	begin := Begin{claim, Nonce(idOf("a"))}
	start := Start{testHold("a", 1), time.Second}
	renew := Renew{testHold("a", 1), time.Second}
	complete := testComplete("a", 1)
	fail := Fail{Hold: testHold("a", 1), NoEffect: true, Reason: "r", Remember: time.Hour}
	settle := Settle{
		Scope: testScope, Operation: idOf("o"), Revision: 2, Completed: true, Response: complete.Response,
		Window: time.Hour, Remember: 2 * time.Hour, Who: "w", Why: "y", Evidence: "e",
	}
	other := NewResponse("text/1", []byte("other"))
	for _, group := range []struct {
		record  *Record
		base    Command
		changed map[string]Command
	}{
		{nil, claim, map[string]Command{
			"lease":        edit(claim, func(c *Claim) { c.Lease += time.Microsecond }),
			"interruption": edit(claim, func(c *Claim) { c.Interruption = Rerun }),
			"policy":       edit(claim, func(c *Claim) { c.Policy++ }),
			"fingerprint":  edit(claim, func(c *Claim) { c.Fingerprints = requestOf("x") }),
			"version":      edit(claim, func(c *Claim) { c.Fingerprints = []Fingerprint{{2, c.Fingerprints[0].Sum}} }),
			"operation":    edit(claim, func(c *Claim) { c.Operation[0]++ }),
			"owner":        edit(claim, func(c *Claim) { c.Owner[0]++ }),
			"kind":         begin,
		}},
		{nil, begin, map[string]Command{
			"nonce": edit(begin, func(c *Begin) { c.Nonce[0]++ }),
			"lease": edit(begin, func(c *Begin) { c.Lease += time.Microsecond }),
		}},
		{claimed, start, map[string]Command{
			"nonce":     edit(start, func(c *Start) { c.Nonce[0]++ }),
			"lease":     edit(start, func(c *Start) { c.Lease += time.Microsecond }),
			"operation": edit(start, func(c *Start) { c.Operation[0]++ }),
		}},
		{executing, renew, map[string]Command{
			"lease":     edit(renew, func(c *Renew) { c.Lease += time.Microsecond }),
			"operation": edit(renew, func(c *Renew) { c.Operation[0]++ }),
		}},
		{executing, complete, map[string]Command{
			"response":  edit(complete, func(c *Complete) { c.Response = other }),
			"codec":     edit(complete, func(c *Complete) { c.Response.Codec = "x" }),
			"not kept":  edit(complete, func(c *Complete) { c.Response.NotKept = true }),
			"window":    edit(complete, func(c *Complete) { c.Window -= time.Microsecond }),
			"remember":  edit(complete, func(c *Complete) { c.Remember += time.Microsecond }),
			"operation": edit(complete, func(c *Complete) { c.Operation[0]++ }),
		}},
		{executing, fail, map[string]Command{
			"kind of failure": edit(fail, func(c *Fail) { c.NoEffect = false }),
			"reason":          edit(fail, func(c *Fail) { c.Reason = "" }),
			"evidence":        edit(fail, func(c *Fail) { c.Evidence = other }),
			"remember":        edit(fail, func(c *Fail) { c.Remember += time.Microsecond }),
		}},
		{abandoned, settle, map[string]Command{
			"decision":          edit(settle, func(c *Settle) { c.Completed = false }),
			"response":          edit(settle, func(c *Settle) { c.Response = other }),
			"window":            edit(settle, func(c *Settle) { c.Window -= time.Microsecond }),
			"remember":          edit(settle, func(c *Settle) { c.Remember += time.Microsecond }),
			"who":               edit(settle, func(c *Settle) { c.Who = "ww" }),
			"why":               edit(settle, func(c *Settle) { c.Why = "yy" }),
			"evidence":          edit(settle, func(c *Settle) { c.Evidence = "" }),
			"who and why moved": edit(settle, func(c *Settle) { c.Who, c.Why = "wy", "_" }),
		}},
	} {
		base := digestOf(t, group.record, group.base)
		if base.IsZero() || base != digestOf(t, group.record, group.base) {
			t.Errorf("%v: digest %v is not a function of the command", group.base.Kind(), base)
		}
		for name, command := range group.changed {
			if digestOf(t, group.record, command) == base {
				t.Errorf("%v with another %s: same digest", group.base.Kind(), name)
			}
		}
	}
}

func edit[C any](command C, change func(*C)) C {
	change(&command)
	return command
}

// How the bytes are stored is not part of the answer: sealing again is no other response.
func TestSealedBytesAreNotInTheDigest(t *testing.T) {
	t.Parallel()
	executing, plain := executingBy(t, "a", Quarantine), testComplete("a", 1)
	sealed := plain
	sealed.Response.Sealed, sealed.Response.Data = "key 1", []byte("noise")
	if digestOf(t, executing, plain) != digestOf(t, executing, sealed) {
		t.Error("the digest covers the sealed bytes")
	}
}

// Remember decides nothing about an unknown outcome, so it is no other argument there.
func TestUnknownFailureHasNoMemory(t *testing.T) {
	t.Parallel()
	executing := executingBy(t, "a", Quarantine)
	fail := Fail{Hold: testHold("a", 1), Reason: "r", Remember: time.Hour}
	if digestOf(t, executing, fail) != digestOf(t, executing, edit(fail, func(c *Fail) { c.Remember = 0 })) {
		t.Error("the digest covers an argument that is not used")
	}
}

// Fields are framed: moving a byte from one to the next gives other bytes, also where they outgrow the
// array that short commands fit into.
func TestFraming(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 100, 400, 416, 417, 5000} {
		long := strings.Repeat("x", size)
		a := new(framed).text(long + "y").text("z").sum()
		b := new(framed).text(long).text("yz").sum()
		if a == b {
			t.Errorf("%d bytes: two lists of fields, one digest", size)
		}
		if a != new(framed).text(long+"y").text("z").sum() {
			t.Errorf("%d bytes: not repeatable", size)
		}
	}
}
