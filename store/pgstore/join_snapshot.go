package pgstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// A transaction above READ COMMITTED sees what was committed before its snapshot, which may be long before it
// got the locks of its keys. So what it was told by its candidates' rows may be over. It reads no later state
// either, but the server does not let it write what somebody else has written since. That is how it finds out.

// stand makes sure that what was decided about the candidates still stands. Under READ COMMITTED the locks do. begun is nil
// where nothing was granted.
//
//   - A row that the decision was taken on is locked, which the server refuses if it was changed or deleted
//     since. It is not written: an action that fails leaves the key as it was.
//   - Where there is no row, one is written, which the server refuses if there is one by now. For the candidate
//     that was granted it stands for the claim. An older one keeps none, and nobody makes one any more: the
//     next version of the secret is primary.
//
// An answer needs none of it: it is not changed before it is forgotten.
func (j *joining) stand(ctx context.Context, candidate int, begun *machine.Record, reply machine.Reply) error {
	if h := j.held[0]; h.isolation == "read committed" || h.isolation == "read uncommitted" || reply.Outcome == machine.Replay {
		return nil
	}
	for i, h := range j.held[:candidate+1] {
		var err error
		switch {
		case h.stands:
			err = j.lockRow(ctx, h.digest)
		case begun == nil: // refused because of another one
		case i < candidate:
			err = j.absent(ctx, h.digest, begun)
		default:
			j.claimed = true
			err = j.write(ctx, h.digest, begun)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lockRow locks the row of a key that has one.
func (j *joining) lockRow(ctx context.Context, digest machine.Digest) error {
	var answered, open sql.NullBool
	return j.tx.queryRow(ctx, j.lockFound, halves(digest), &answered, &open)
}

// write writes a row for a key that has none, as far as the transaction sees.
func (j *joining) write(ctx context.Context, digest machine.Digest, begun *machine.Record) error {
	var at int64
	return j.tx.queryRow(ctx, j.claim, halves(digest, int64(begun.Claimed), form.Pack(begun).Record), &at)
}

// absent makes sure that a key has no row in either table, and leaves none.
func (j *joining) absent(ctx context.Context, digest machine.Digest, like *machine.Record) error {
	if err := j.write(ctx, digest, like); err != nil {
		return err
	}
	var forgetAt int64
	answer := halves(digest, int64(like.Claimed), int64(0), form.Pack(like).Record, []byte{}, j.began)
	if err := j.tx.queryRow(ctx, j.join, answer, &forgetAt); err != nil {
		return err
	}
	for _, remove := range []string{j.deleteOpen, j.deleteAnswered} {
		if err := j.tx.exec(ctx, remove, halves(digest, j.began)...); err != nil {
			return err
		}
	}
	return nil
}

// withdraw leaves the key as it was, as far as the transaction still can, and returns the action's error.
func (j *joining) withdraw(ctx context.Context, candidate int, cause error) error {
	if !j.claimed {
		return cause
	}
	return errors.Join(cause, j.tx.exec(ctx, j.deleteOpen, halves(j.invocation.Candidates[candidate].Scope.Digest, j.began)...))
}
