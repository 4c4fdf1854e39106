package storetest

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

var (
	otherResponse = machine.NewResponse("text/1", []byte("another answer"))
	otherCodec    = machine.NewResponse("http/1", []byte("answer"))
)

func transitions() []transition {
	return append(acquiring(), append(holding(), finishing()...)...)
}

// acquiring are the commands that get a key.
func acquiring() []transition {
	claim := func(c *caller) machine.Claim { return c.claim }
	begin := (*caller).begin
	claims := []variation{
		vary("lease", machine.ArgumentConflict, claim, func(c *machine.Claim) { c.Lease += time.Second }),
		vary("interruption policy", machine.ArgumentConflict, claim, func(c *machine.Claim) { c.Interruption = machine.Rerun }),
		vary("policy", machine.ArgumentConflict, claim, func(c *machine.Claim) { c.Policy++ }),
		vary("fingerprint version", machine.ArgumentConflict, claim, func(c *machine.Claim) {
			c.Fingerprints = append([]machine.Fingerprint{{Version: 2, Sum: sum("request")}}, c.Fingerprints...)
		}),
		byCaller("request", machine.FingerprintMismatch, otherRequest, claim),
		byCaller("operation", machine.OwnerConflict, otherOperation, claim),
		byCaller("owner", machine.InProgress, another, claim),
		byCaller("seen revision", machine.ReplayedAcquire, func(c *caller) *caller { return seen(c, 9) }, claim),
	}
	begins := []variation{
		vary("lease", machine.ArgumentConflict, begin, func(c *machine.Begin) { c.Lease += time.Second }),
		vary("interruption policy", machine.ArgumentConflict, begin, func(c *machine.Begin) { c.Interruption = machine.Rerun }),
		vary("policy", machine.ArgumentConflict, begin, func(c *machine.Begin) { c.Policy++ }),
		byCaller("request", machine.FingerprintMismatch, otherRequest, begin),
		byCaller("operation", machine.OwnerConflict, otherOperation, begin),
		byCaller("owner", machine.InProgress, another, begin),
		byCaller("invocation", machine.InProgress, otherInvocation, begin),
		byCaller("kind", machine.InProgress, twin, claim),
	}
	takesOver := func(c *caller) machine.Claim { return seen(another(c), 2).claim }
	takeovers := []variation{
		vary("lease", machine.ArgumentConflict, takesOver, func(c *machine.Claim) { c.Lease += time.Second }),
		vary("interruption policy", machine.ArgumentConflict, takesOver, func(c *machine.Claim) { c.Interruption = machine.Rerun }),
		byCaller("owner", machine.InProgress, twin, func(c *caller) machine.Claim { return seen(c, 2).claim }),
	}
	return []transition{
		{"claim", nil, command(claim), machine.Acquired, machine.ReplayedAcquire, claims},
		{"begin", nil, command(begin), machine.Acquired, machine.ReplayedAcquire, begins},
		{"takeover", failed(true), command(takesOver), machine.TakenOver, machine.ReplayedAcquire, takeovers},
	}
}

// holding are the commands between claim and end.
func holding() []transition {
	start, renew := (*caller).start, (*caller).renew
	starts := []variation{
		vary("lease", machine.ArgumentConflict, start, func(c *machine.Start) { c.Lease += time.Second }),
		byCaller("invocation", machine.InProgress, otherInvocation, start),
		byCaller("owner", machine.NotOwner, another, start),
		byCaller("attempt", machine.NotOwner, otherAttempt, start),
		// The nonce says whose start it was, whatever else the caller believes about the record.
		byCaller("operation", machine.AlreadyStarted, otherOperation, start),
		byCaller("revision", machine.AlreadyStarted, otherRevision, start),
	}
	renewals := append(strangers(renew),
		vary("lease", machine.ArgumentConflict, renew, func(c *machine.Renew) { c.Lease += time.Second }))
	released := []variation{
		byCaller("owner", machine.AlreadyReleased, another, (*caller).release),
		byCaller("operation", machine.AlreadyReleased, otherOperation, (*caller).release),
	}
	return []transition{
		{"start", claimed, command(start), machine.Started, machine.AlreadyStarted, starts},
		{"renew", executing, command(renew), machine.Renewed, machine.AlreadyRenewed, renewals},
		{"renew when lapsed", lapse(executing), command(renew), machine.Renewed, machine.AlreadyRenewed, renewals},
		{"release", claimed, command((*caller).release), machine.Released, machine.AlreadyReleased, released},
	}
}

// finishing are the commands that end a tenure.
func finishing() []transition {
	complete := (*caller).complete
	noEffect := func(c *caller) machine.Fail { return c.fail(true) }
	unknown := func(c *caller) machine.Fail { return c.fail(false) }
	completions := append(strangers(complete),
		vary("response", machine.ResponseConflict, complete, func(c *machine.Complete) { c.Response = otherResponse }),
		vary("codec", machine.ResponseConflict, complete, func(c *machine.Complete) { c.Response = otherCodec }),
		vary("response that is not kept", machine.ResponseConflict, complete, func(c *machine.Complete) { c.Response.NotKept = true }),
		vary("window", machine.WindowConflict, complete, func(c *machine.Complete) { c.Window -= time.Second }),
		vary("remember time", machine.WindowConflict, complete, func(c *machine.Complete) { c.Remember += time.Second }),
		vary("response and window", machine.ResponseConflict, complete, func(c *machine.Complete) {
			c.Response, c.Window = otherResponse, time.Second
		}),
	)
	failures := append(strangers(noEffect),
		vary("kind of failure", machine.ArgumentConflict, noEffect, func(c *machine.Fail) { c.NoEffect = false }),
		vary("reason", machine.ArgumentConflict, noEffect, func(c *machine.Fail) { c.Reason = "no" }),
		vary("evidence", machine.ResponseConflict, noEffect, func(c *machine.Fail) { c.Evidence = otherResponse }),
		vary("remember time", machine.WindowConflict, noEffect, func(c *machine.Fail) { c.Remember += time.Second }),
	)
	unknowns := append(strangers(unknown),
		vary("kind of failure", machine.ArgumentConflict, unknown, func(c *machine.Fail) { c.NoEffect = true }),
		vary("reason", machine.ArgumentConflict, unknown, func(c *machine.Fail) { c.Reason = "no" }),
		vary("evidence", machine.ResponseConflict, unknown, func(c *machine.Fail) { c.Evidence = machine.Response{} }),
		// It decides nothing here: what is unknown has no end.
		vary("remember time", machine.AlreadyFailed, unknown, func(c *machine.Fail) { c.Remember += time.Second }),
	)
	return append(settling(),
		transition{"complete", executing, command(complete), machine.CompletedNow, machine.AlreadyCompleted, completions},
		transition{"complete when lapsed", lapse(executing), command(complete), machine.CompletedNow, machine.AlreadyCompleted, completions},
		transition{"fail, no effect", executing, command(noEffect), machine.Failed, machine.AlreadyFailed, failures},
		transition{"fail, unknown", executing, command(unknown), machine.Failed, machine.AlreadyFailed, unknowns},
	)
}

// settling are the operator's decisions, both ways.
func settling() []transition {
	done := func(c *caller) machine.Settle { return c.settle(true) }
	notDone := func(c *caller) machine.Settle { return c.settle(false) }
	var transitions []transition
	for name, settle := range map[string]func(*caller) machine.Settle{"settle as completed": done, "settle as retryable": notDone} {
		others := []variation{
			vary("decision", machine.ArgumentConflict, settle, func(c *machine.Settle) { c.Completed = !c.Completed }),
			vary("remember time", machine.WindowConflict, settle, func(c *machine.Settle) { c.Remember += time.Second }),
			vary("who", machine.ArgumentConflict, settle, func(c *machine.Settle) { c.Who = "somebody else" }),
			vary("why", machine.ArgumentConflict, settle, func(c *machine.Settle) { c.Why = "no" }),
			vary("evidence", machine.ArgumentConflict, settle, func(c *machine.Settle) { c.Evidence = "" }),
			vary("operation", machine.Stale, settle, func(c *machine.Settle) { c.Operation = operation("another") }),
			vary("revision", machine.Stale, settle, func(c *machine.Settle) { c.Revision += 7 }),
		}
		if name == "settle as completed" {
			others = append(others,
				vary("response", machine.ResponseConflict, settle, func(c *machine.Settle) { c.Response = otherResponse }),
				vary("window", machine.WindowConflict, settle, func(c *machine.Settle) { c.Window -= time.Second }))
		}
		transitions = append(transitions,
			transition{name, failed(false), command(settle), machine.SettledNow, machine.AlreadySettled, others},
			transition{name + ", interrupted", lapse(executing), command(settle), machine.SettledNow, machine.AlreadySettled, others})
	}
	return transitions
}
