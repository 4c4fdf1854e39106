package movestore

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// A record that somebody could take over is fenced in two steps, after it was written into the primary store. The
// copier takes it over, which is a compare-and-swap on what it has copied, and abandons it for the reason that names
// the move. Between the two the key is in progress, and later unknown, for everybody else. Token, operation and nonce
// are derived, so that a copier recognises what another one before it has begun.

// fenceLease is how long the first step is in progress. Nothing depends on it.
const fenceLease = time.Minute

// fenceToken owns the fence of a key.
func (m move) fenceToken(digest machine.Digest) machine.Token {
	return machine.Token(m.of("fence", digest[:]...))
}

// takesOver is the first step.
func (m move) takesOver(r *machine.Record) machine.Begin {
	sum := m.of("fence operation", binary.BigEndian.AppendUint64(r.Scope.Digest[:], r.Revision)...)
	return machine.Begin{
		Claim: machine.Claim{
			Scope: r.Scope, Owner: m.fenceToken(r.Scope.Digest), Operation: machine.ID(sum[:16]), Seen: r.Revision,
			Fingerprints: []machine.Fingerprint{r.Fingerprint}, Lease: fenceLease, Policy: r.Policy, CreateBefore: 1,
		},
		Nonce: machine.Nonce(sum[16:]),
	}
}

// fence fences a record as it was copied, and reports whether it did: not if it has changed since.
func (c *copier) fence(ctx context.Context, r *machine.Record) (bool, error) {
	begin := c.move.takesOver(r)
	reply, err := c.from.Apply(ctx, begin)
	if err != nil || reply.Outcome != machine.TakenOver && reply.Outcome != machine.ReplayedAcquire {
		return false, err
	}
	return c.abandon(ctx, machine.Hold{
		Scope: r.Scope, Owner: begin.Owner, Attempt: reply.Attempt, Revision: reply.Revision, Operation: begin.Operation, Nonce: begin.Nonce,
	})
}

// isHalfFenced reports whether the second step of a fence is missing.
func (c *copier) isHalfFenced(r *machine.Record) bool {
	return r.State == machine.Executing && r.Owner == c.move.fenceToken(r.Scope.Digest).Digest()
}

// finish takes the second step of a fence that was begun.
func (c *copier) finish(ctx context.Context, r *machine.Record) (bool, error) {
	return c.abandon(ctx, machine.Hold{
		Scope: r.Scope, Owner: c.move.fenceToken(r.Scope.Digest), Attempt: r.Attempt, Revision: r.Revision, Operation: r.Operation, Nonce: r.Nonce,
	})
}

func (c *copier) abandon(ctx context.Context, h machine.Hold) (bool, error) {
	reply, err := c.from.Apply(ctx, machine.Fail{Hold: h, Reason: c.move.fenced()})
	return err == nil && (reply.Outcome == machine.Failed || reply.Outcome == machine.AlreadyFailed), err
}
