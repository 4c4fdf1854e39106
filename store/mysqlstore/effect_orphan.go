package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

var errEnded = errors.New("the action ended the transaction that its answer was to be recorded in, or went on after the server had rolled it back: it is to return instead, with an error to roll back")

// lookTime is for how long is looked after an action whose context may have ended.
const lookTime = 5 * time.Second

// ended reports whether the action has ended the transaction, or the server has and the action went on: then the claim is not there. An
// action that returns the error with which the server has rolled back, and has sent nothing after it, has done what it should. Otherwise
// the transaction is asked, and not the error: that may be one of another transaction. One that was ended by its handle cannot be asked,
// which is the error then.
func (c *claim) ended(ctx context.Context, cause error) (bool, error) {
	var level, message string
	var code uint16
	if held(cause) && c.tx.QueryRowContext(ctx, "SHOW WARNINGS").Scan(&level, &code, &message) == nil && code == number(cause) {
		return false, nil
	}
	if inside, err := c.inside(ctx); err != nil || !inside {
		return c.lost || err == nil, err
	}
	there, err := c.there(ctx, c.tx.QueryRowContext, c.ownClaim)
	return c.lost || err == nil && !there, err
}

// inside asks whether the server still has the transaction, or a later one.
func (c *claim) inside(ctx context.Context) (bool, error) {
	_, err := c.tx.ExecContext(ctx, c.savepoint.with())
	if err == nil {
		_, err = c.tx.ExecContext(ctx, c.release.with())
	}
	if number(err) == noSavepoint {
		return false, nil
	}
	return err == nil, err
}

// there asks whether the claim is.
func (c *claim) there(ctx context.Context, query func(ctx context.Context, query string, args ...any) *sql.Row, statement text) (bool, error) {
	h, n := c.all[c.candidate], 0
	err := query(ctx, statement.with(h.place, h.digest, h.claim)).Scan(&n)
	return n == 1, err
}

// failed is the error of an action that returned one, or whose answer could not be recorded. A claim that outlives its transaction was
// committed by the action, with what else it did.
func (e *effect) failed(ctx context.Context, conn *sql.Conn, c *claim, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	if ended, _ := c.ended(ctx, cause); ended {
		_ = c.tx.Rollback()
		return e.orphaned(ctx, conn, cause)
	}
	_ = c.tx.Rollback()
	if there, err := c.there(ctx, conn.QueryRowContext, c.left); err == nil && there {
		return store.Indeterminate(errors.Join(errEnded, cause))
	}
	return cause
}

// orphaned is the error of an action whose transaction ended before it. What it did after that may be committed, and its claim may not
// be: so that the next try does not run it again, its key becomes unknown.
func (e *effect) orphaned(ctx context.Context, conn *sql.Conn, cause error) error {
	err := e.orphan(ctx, conn)
	if err != nil {
		err = fmt.Errorf("and the key could not be made unknown: the next try may run it again: %w", err)
	}
	return store.Indeterminate(errors.Join(errEnded, err, cause))
}

// orphan writes that nobody knows what came of the action. Where the claim was committed, or somebody else has used the key since, that stands.
func (e *effect) orphan(ctx context.Context, conn *sql.Conn) error {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	c := &claim{effectStatements: e.effectStatements, tx: tx, invocation: e.invocation, own: true}
	switch err := c.begin(ctx); {
	case held(err):
		return nil // by somebody who has it
	case err != nil:
		return err
	case !c.granted:
		return nil
	}
	h := c.all[c.candidate]
	fail := e.invocation.Fail(e.invocation.Hold(c.candidate, c.begun.Attempt, c.begun.Revision), false, errEnded.Error(), machine.Response{})
	next, reply := machine.Step(c.begun, fail, h.at.Time())
	if next == c.begun {
		return fmt.Errorf("it cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	if err := c.put(ctx, h, form.Pack(next), h.effect); err != nil {
		return err
	}
	return tx.Commit()
}
