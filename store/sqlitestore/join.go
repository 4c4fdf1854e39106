package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// JoinSQL is [Effects.JoinSQL] of the zero value.
func JoinSQL(ctx context.Context, tx *sql.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.JoinSQL(ctx, tx, invocation, action)
}

// JoinSQL does what [Effects.Do] does, in a transaction that its caller has begun and will end. The effect
// holds once that is committed. It takes the file's write lock, also for a key that has an answer, and the
// caller holds it until the transaction ends: begin it with a context that has a deadline.
// [Effects.Limit] ends the action's context only.
//
// All is done in a savepoint. An error, or a panic, leaves nothing of it, so that the transaction can go on
// and be committed; only after [store.ErrIndeterminate], when the action has ended the transaction, and
// [store.ErrSerialization] it cannot.
//
// A transaction that is not immediate and has read something before it joins sees the file as it was then.
// SQLite lets it write only if nobody else has written since (SQLITE_BUSY_SNAPSHOT). Else the error is
// [store.ErrSerialization]: roll all of it back and run it again. To be spared that, join before anything is
// read, or begin the transactions of the pool with BEGIN IMMEDIATE (_txlock=immediate in its DSN).
//
// Whether a commit that failed has happened is for the caller to find out: by calling again, which is
// answered with the answer if there is one. Who waits for the key in this process asks again after a while.
func (e Effects) JoinSQL(ctx context.Context, tx *sql.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	p, err := e.prepare(ctx, invocation)
	if err != nil {
		return store.Effect{}, err
	}
	err = p.patiently(ctx, tx, func() error {
		_, err := tx.ExecContext(ctx, effectLockSQL)
		return err
	})
	if stale(err) {
		return store.Effect{}, fmt.Errorf("%w: it has read before it joined, and another has written since: join before anything is read, or begin it with BEGIN IMMEDIATE: %w", store.ErrSerialization, err)
	}
	if err == nil {
		err = p.check(ctx, tx)
	}
	if err != nil {
		return store.Effect{}, p.unsent(ctx, err)
	}
	a := &attempt{effect: p, tx: tx}
	var ended error // of the action's time
	result, err := a.run(ctx, func(ctx context.Context) (machine.Response, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, p.limit, errLimit)
		defer func() {
			ended = context.Cause(ctx)
			cancel()
		}()
		return action(ctx)
	})
	switch {
	case err == nil:
		return result, nil
	case a.over: // should the context have ended, nobody knows which was first
		err = store.Indeterminate(fmt.Errorf("%w: %w", errEnded, err))
	default:
		err = a.undone(ctx, ended, err)
	}
	return store.Effect{}, err
}
