package store

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Invocation is one try to run an action under a key: everything its commands carry, fixed before the
// first is sent. The guard prepares it; stores that commit record and effect together take it, so that
// they need not know the guard. It is good for one attempt: prepare another after a rollback.
type Invocation struct {
	// Candidates are the scopes under which the key may be recorded, in the order in which they are
	// asked. While two versions of the secret live there are two: the older one first.
	Candidates []Candidate
	Owner      machine.Token
	Operation  machine.ID
	Nonce      machine.Nonce
	// Fingerprints are those of the request, the current version first.
	Fingerprints []machine.Fingerprint
	Codecs       []string
	Policy       uint32
	Interruption machine.Interruption
	Lease        time.Duration
	Window       time.Duration // for which the answer replays
	Remember     time.Duration // for which a completed key is remembered
	Retryable    time.Duration // for which a retryable key is remembered
}

// Candidate is a scope, and when a new record may be made in it: before (exclusive) and from
// (inclusive), zero for no bound.
type Candidate struct {
	Scope                    machine.Scope
	CreateBefore, CreateFrom machine.Instant
}

// Claim returns the claim on the i-th candidate by who has seen a revision, or none (0).
func (v *Invocation) Claim(i int, seen uint64) machine.Claim {
	c := v.Candidates[i]
	return machine.Claim{
		Scope: c.Scope, Owner: v.Owner, Operation: v.Operation, Seen: seen, Fingerprints: v.Fingerprints,
		Lease: v.Lease, Interruption: v.Interruption, Policy: v.Policy, Codecs: v.Codecs,
		CreateBefore: c.CreateBefore, CreateFrom: c.CreateFrom,
	}
}

// Begin returns the claim that is started at once.
func (v *Invocation) Begin(i int, seen uint64) machine.Begin {
	return machine.Begin{Claim: v.Claim(i, seen), Nonce: v.Nonce}
}

// Ask returns a claim on the i-th candidate that can be granted nothing: it makes no record and takes
// none over, and is answered as any other claim that comes too late.
func (v *Invocation) Ask(i int) machine.Claim {
	c := v.Claim(i, 0)
	c.CreateBefore, c.CreateFrom = 1, 0
	return c
}

// Hold names the tenure that the invocation has on the i-th candidate.
func (v *Invocation) Hold(i int, attempt uint32, revision uint64) machine.Hold {
	return machine.Hold{Scope: v.Candidates[i].Scope, Owner: v.Owner, Attempt: attempt, Revision: revision,
		Operation: v.Operation, Nonce: v.Nonce}
}

// Complete returns the command that records the answer.
func (v *Invocation) Complete(h machine.Hold, response machine.Response) machine.Complete {
	return machine.Complete{Hold: h, Response: response, Window: v.Window, Remember: v.Remember}
}

// Fail returns the command that records that there is no answer.
func (v *Invocation) Fail(h machine.Hold, noEffect bool, reason string, evidence machine.Response) machine.Fail {
	return machine.Fail{Hold: h, NoEffect: noEffect, Reason: reason, Evidence: evidence, Remember: v.Retryable}
}
