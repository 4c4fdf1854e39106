package machine

import (
	"strings"
	"testing"
	"time"
)

// What makes no sense is answered, with what is wrong, whatever the record is.
func TestInvalidCommands(t *testing.T) {
	t.Parallel()
	claim, hold := testClaim("a"), testHold("a", 1)
	begin, complete := Begin{claim, Nonce(idOf("a"))}, testComplete("a", 1)
	settle := Settle{
		Scope: testScope, Operation: idOf("o"), Revision: 1, Completed: true, Response: complete.Response,
		Window: window, Remember: remember, Who: "w", Why: "y",
	}
	long := strings.Repeat("x", MaxStatement+1)
	for says, command := range map[string]Command{
		"1 to 256 bytes": edit(claim, func(c *Claim) { c.Scope.Operation = "" }),
		"of UTF-8":       edit(claim, func(c *Claim) { c.Scope.Operation = "\xff" }),
		"256 bytes":      edit(claim, func(c *Claim) { c.Scope.Operation = long[:MaxOperationName+1] }),
		"no digest":      edit(claim, func(c *Claim) { c.Scope.Digest = Digest{} }),
		"scope has no":   Inspect{},
		"has no digest":  Forget{},

		"claim has no owner":     edit(claim, func(c *Claim) { c.Owner = Token{} }),
		"claim has no operation": edit(claim, func(c *Claim) { c.Operation = ID{} }),
		"no fingerprint":         edit(claim, func(c *Claim) { c.Fingerprints = nil }),
		"interruption policy":    edit(claim, func(c *Claim) { c.Interruption = Rerun + 1 }),
		"lease must be":          edit(claim, func(c *Claim) { c.Lease = time.Millisecond - 1 }),
		"a lease must":           edit(claim, func(c *Claim) { c.Lease = MaxLease + 1 }),
		"begin has no":           edit(begin, func(c *Begin) { c.Nonce = Nonce{} }),
		"fingerprint":            edit(begin, func(c *Begin) { c.Fingerprints = nil }),

		"command has no owner":     Release{edit(hold, func(h *Hold) { h.Owner = Token{} })},
		"command has no operation": Release{edit(hold, func(h *Hold) { h.Operation = ID{} })},
		"no attempt":               Release{edit(hold, func(h *Hold) { h.Attempt = 0 })},
		"no revision":              Release{edit(hold, func(h *Hold) { h.Revision = 0 })},
		"start has no":             Start{edit(hold, func(h *Hold) { h.Nonce = Nonce{} }), lease},
		"lease":                    Renew{hold, 0},
		"between 1ms":              Start{hold, 0},

		"codec must be named": edit(complete, func(c *Complete) { c.Response.Codec = "" }),
		"at most 64":          edit(complete, func(c *Complete) { c.Response.Codec = long[:MaxCodecName+1] }),
		"NewResponse":         edit(complete, func(c *Complete) { c.Response.Digest = Digest{} }),
		"remembered between":  edit(complete, func(c *Complete) { c.Remember = 0 }),
		"between 1ms and":     edit(complete, func(c *Complete) { c.Window, c.Remember = 0, time.Millisecond-1 }),
		"must be remembered":  edit(complete, func(c *Complete) { c.Remember = MaxRemember + 1 }),
		"replay window (-1s)": edit(complete, func(c *Complete) { c.Window = -time.Second }),
		"replay window (25h":  edit(complete, func(c *Complete) { c.Window = remember + time.Hour }),

		"longer than 4096": Fail{Hold: hold, Reason: long[:MaxReason+1]},
		"at most 64 bytes": Fail{Hold: hold, Evidence: Response{Codec: long}},
		"finished record":  Fail{Hold: hold, NoEffect: true},
		// Without a codec there is no response, and what is said of it would be lost where records are stored.
		"response's codec":           Fail{Hold: hold, Evidence: Response{Data: []byte("seen")}},
		"must be named":              Fail{Hold: hold, Evidence: Response{NotKept: true}},
		"codec must be named, in at": Fail{Hold: hold, Evidence: Response{Digest: complete.Response.Digest}},

		"settle names no revision": edit(settle, func(c *Settle) { c.Revision = 0 }),
		"who decides":              edit(settle, func(c *Settle) { c.Who = "" }),
		"why":                      edit(settle, func(c *Settle) { c.Why = "" }),
		"limited to":               edit(settle, func(c *Settle) { c.Evidence = long }),
		"codec":                    edit(settle, func(c *Settle) { c.Response = Response{} }),
		"has no operation id":      edit(settle, func(c *Settle) { c.Operation = ID{} }),
	} {
		record := executingBy(t, "a", Quarantine)
		next, reply := Step(record, command, noon)
		if reply.Outcome != Invalid || !strings.Contains(reply.Reason, says) || next != record {
			t.Errorf("%v: %v %q, want invalid with %q", command.Kind(), reply.Outcome, reply.Reason, says)
		}
	}
}

// The edges themselves are allowed.
func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	complete := testComplete("a", 1)
	for _, command := range []Command{
		edit(testClaim("a"), func(c *Claim) {
			c.Scope.Operation, c.Lease = strings.Repeat("x", MaxOperationName), time.Millisecond
		}),
		edit(testClaim("a"), func(c *Claim) { c.Lease = MaxLease }),
		edit(complete, func(c *Complete) { c.Window, c.Remember = MaxRemember, MaxRemember }),
		edit(complete, func(c *Complete) { c.Window, c.Remember = 0, time.Millisecond }),
		Fail{Hold: testHold("a", 1), Reason: strings.Repeat("x", MaxReason)},
		// Somebody who settles may know the digest only.
		Settle{Scope: Scope{Digest: testScope.Digest}, Operation: idOf("o"), Revision: 1, Who: "w", Why: "y", Remember: remember},
	} {
		if reason := command.Invalid(); reason != "" {
			t.Errorf("%v: %s", command.Kind(), reason)
		}
	}
}
