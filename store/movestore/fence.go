package movestore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// What can still go on in the previous store is fenced there, after it was written into the primary one: from then on
// nothing can become of it in the previous store, and the primary store governs its key. There are two ways, each
// a compare-and-swap on what was copied:
//
//   - A record of which nobody knows is settled by the copier, with an answer that names the move. Otherwise its
//     execution might still end, if it was only interrupted, or an operator settle it where nobody looks.
//   - A record that somebody could take over is taken over by the copier, and then abandoned for a reason that names the
//     move. Between the two the key is in progress, and later unknown, for everybody else. Token, operation and
//     nonce are derived, so that a copier recognises what another one before it has begun.

// fenced is the reason, or the codec of the answer, of a record that is fenced. No action gives it.
func (m move) fenced() string { return "moved:" + hex.EncodeToString(m.link[:16]) }

// isFence reports whether a record of the previous store is fenced.
func (m move) isFence(r *machine.Record) bool {
	return r.State == machine.Abandoned && r.Reason == m.fenced() ||
		r.State == machine.Completed && r.Response.Codec == m.fenced()
}

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
	if state, _ := r.Judge(c.now()); state == machine.Abandoned {
		return c.settle(ctx, r)
	}
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

// settle fences a record of which nobody knows.
func (c *copier) settle(ctx context.Context, r *machine.Record) (bool, error) {
	sum := c.move.of("settle", binary.BigEndian.AppendUint64(r.Scope.Digest[:], r.Revision)...)
	reply, err := c.from.Apply(ctx, machine.Settle{
		Scope: r.Scope, Operation: machine.ID(sum[:16]), Revision: r.Revision, Completed: true,
		Response: machine.NewResponse(c.move.fenced(), nil), Window: machine.MaxRemember, Remember: machine.MaxRemember,
		Who: "reprise store copy", Why: "the record was moved to another store: settle it there",
	})
	return err == nil && (reply.Outcome == machine.SettledNow || reply.Outcome == machine.AlreadySettled), err
}
