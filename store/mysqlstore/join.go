package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Join is [Effects.Join] of the zero value.
func Join(ctx context.Context, tx *sql.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.Join(ctx, tx, invocation, action)
}

// Join does what [Effects.Do] does, in a transaction that its caller has begun, at any isolation, and will
// end. The effect holds once that is committed; the key is held until then. After an error the caller rolls
// back, unless it is a [*store.Refusal]: then nothing was written, and the transaction can go on. It may hold the key all the same,
// so one that goes on ends soon: whoever has the key cannot renew its lease meanwhile. An action that ends the transaction
// all the same, or goes on after the server has, is [store.ErrIndeterminate]: what it did may be committed.
//
// Where the server asks for all of the transaction again, because it conflicts with another one, the error is
// [store.ErrSerialization], perhaps only after the action has run. The key itself is always read as it is now,
// also where the transaction sees the rest as it was when it began.
//
// An effect on a key that was given up before holds up, on some servers, keys whose digests come just before
// it.
//
// Whether a commit whose reply was lost has happened is for the caller to find out: by calling again, which
// is answered with the answer if there is one.
func (e Effects) Join(ctx context.Context, tx *sql.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	s, err := e.statements(false)
	if err != nil {
		return store.Effect{}, err
	}
	c := &claim{effectStatements: s, tx: tx, invocation: invocation}
	if err := c.beginWithin(ctx, e.Wait); err != nil {
		if errors.Is(err, errBusy) {
			return invocation.Answered(0, machine.Reply{Outcome: machine.InProgress})
		}
		return store.Effect{}, conflict(err)
	}
	if !c.granted {
		if _, err := c.durable(ctx, c.all[c.candidate]); err != nil {
			return store.Effect{}, conflict(err)
		}
		return invocation.Answered(c.candidate, c.reply)
	}
	response, err := action(ctx)
	if err != nil {
		return store.Effect{}, c.fail(ctx, err, func(err error) error { return err })
	}
	at, err := c.end(ctx, response)
	if err != nil {
		return store.Effect{}, c.fail(ctx, err, conflict)
	}
	return c.result(response, at), nil
}

// fail leaves the key as it was after an error, which is told as it would be otherwise. If the action has ended the transaction, what it
// did may be committed: then the claim, should it be as well, stays.
func (c *claim) fail(ctx context.Context, err error, otherwise func(error) error) error {
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	if ended, asked := c.ended(looking, err); ended || errors.Is(asked, sql.ErrTxDone) {
		return store.Indeterminate(errors.Join(errEnded, err))
	}
	return otherwise(errors.Join(err, c.withdraw(ctx, -1)))
}

// beginWithin is begin, and waits for who holds a key for a bounded time.
func (c *claim) beginWithin(ctx context.Context, patience time.Duration) error {
	for wait, until := gather.NewBackoff(), time.Now().Add(patience); ; {
		err := c.begin(ctx)
		if n := number(err); n != lockTimeout && n != lockNoWait {
			return err
		}
		// A server can be set so that it then ends the transaction. What comes next would not be in it.
		var undone int64
		if failed := c.tx.QueryRowContext(ctx, c.undone.with()).Scan(&undone); failed != nil || undone != 0 {
			return errors.Join(errUndone, err, failed)
		}
		if !time.Now().Before(until) || !wait.Sleep(ctx) {
			return errBusy
		}
		c.all = nil
	}
}

var errUndone = errors.New("the server rolls back a transaction that waits for a lock (innodb_rollback_on_timeout)")

// conflict translates an error inside of somebody else's transaction, which can only be rolled back.
func conflict(err error) error {
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return err
	case held(err) || errors.Is(err, errUndone):
		return fmt.Errorf("%w: %w", store.ErrSerialization, err)
	}
	return store.Unavailable(explain(err))
}
