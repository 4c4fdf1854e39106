package storetest

import (
	"crypto/sha256"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// The durations of the suite. They are far longer than any test runs, so that nothing ends by itself
// on a store whose clock runs.
const (
	lease    = time.Hour
	window   = 24 * time.Hour
	remember = 7 * 24 * time.Hour
)

func sum(s string) machine.Digest         { return sha256.Sum256([]byte(s)) }
func token(name string) machine.Token     { return machine.Token(sum("token " + name)) }
func nonce(name string) (n machine.Nonce) { d := sum("nonce " + name); copy(n[:], d[:]); return n }
func operation(name string) (id machine.ID) {
	d := sum("operation " + name)
	copy(id[:], d[:])
	return id
}

// caller is somebody who wants one key: what a command of its needs.
type caller struct {
	claim machine.Claim
	hold  machine.Hold
}

// newCaller returns a caller with a token of its own, for the request that everybody sends.
func newCaller(scope machine.Scope, name string) *caller {
	c := machine.Claim{
		Scope: scope, Owner: token(name), Operation: operation(name), Lease: lease,
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: sum("request")}},
		Policy:       3, Codecs: []string{"text/1", "http/1"},
	}
	return &caller{claim: c, hold: machine.Hold{
		Scope: scope, Owner: c.Owner, Attempt: 1, Revision: 1, Operation: c.Operation, Nonce: nonce(name),
	}}
}

// learn notes what a reply says about the tenure.
func (c *caller) learn(reply machine.Reply) machine.Reply {
	c.hold.Attempt, c.hold.Revision = reply.Attempt, reply.Revision
	return reply
}

func (c *caller) begin() machine.Begin { return machine.Begin{Claim: c.claim, Nonce: c.hold.Nonce} }
func (c *caller) start() machine.Start {
	return machine.Start{Hold: c.hold, Lease: lease}
}
func (c *caller) renew() machine.Renew { return machine.Renew{Hold: c.hold, Lease: 2 * lease} }
func (c *caller) complete() machine.Complete {
	return machine.Complete{Hold: c.hold, Response: machine.NewResponse("text/1", []byte("answer")), Window: window, Remember: remember}
}
func (c *caller) fail(noEffect bool) machine.Fail {
	return machine.Fail{
		Hold: c.hold, NoEffect: noEffect, Reason: "upstream", Remember: remember,
		Evidence: machine.NewResponse("http/1", []byte("503")),
	}
}
func (c *caller) release() machine.Release { return machine.Release{Hold: c.hold} }

// settle is the operator's, for the revision that the caller knows.
func (c *caller) settle(completed bool) machine.Settle {
	return machine.Settle{
		Scope: c.hold.Scope, Operation: operation("operator"), Revision: c.hold.Revision, Completed: completed,
		Response: machine.NewResponse("text/1", []byte("settled")), Window: window, Remember: remember,
		Who: "operator", Why: "asked the bank", Evidence: "statement 12",
	}
}
