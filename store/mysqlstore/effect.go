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
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Effects say how actions commit together with their records. The zero value waits for nobody.
type Effects struct {
	// Wait is how long an action waits for another transaction that holds its key, before it is refused
	// as in progress; 0 is not at all. Do holds no connection meanwhile. On MySQL the server waits, too, for
	// as long as innodb_lock_wait_timeout says for the session.
	Wait time.Duration

	clock clock // the server's, unless a test sets another
}

// Do is [Effects.Do] of the zero value.
func Do(ctx context.Context, db *sql.DB, invocation *store.Invocation, action func(ctx context.Context, tx *sql.Tx) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.Do(ctx, db, invocation, action)
}

// Do runs an action in a transaction that also claims its key and records its answer. Either all of that
// is committed, or nothing is: an action that returns an error, panics or dies with its process leaves the
// key as it was, and can be called again with an invocation prepared anew. If the key has an answer, that
// is returned, and the action is not run. Meanwhile the key is in progress for everybody else: see
// [Store.Apply].
//
// The pool is one of the database that holds the store, by go-sql-driver/mysql, with any settings but one: its sessions tell the time as it
// is (no SET timestamp). The transaction is READ COMMITTED; the action uses it as it likes, but does not end it, nor changes tables in it,
// which would end it. Nor does it go on after the server has rolled it back, as it does with the victim of a deadlock: it
// returns the server's error. Else the key becomes unknown: what was done outside of the transaction may be committed.
// (MySQL does not tell of a transaction that its action has committed until it is too late: the answer of one that has is recorded.) A commit whose reply
// is lost is looked up, as long as ctx lives.
func (e Effects) Do(ctx context.Context, db *sql.DB, invocation *store.Invocation, action func(ctx context.Context, tx *sql.Tx) (machine.Response, error)) (store.Effect, error) {
	s, err := e.statements(true)
	if err != nil {
		return store.Effect{}, err
	}
	t := &effect{effectStatements: s, db: db, invocation: invocation}
	for wait, until := gather.NewBackoff(), time.Now().Add(e.Wait); ; {
		result, err := t.run(ctx, action)
		if !t.busy {
			return result, err
		}
		if !time.Now().Before(until) || !wait.Sleep(ctx) {
			return invocation.Answered(0, machine.Reply{Outcome: machine.InProgress})
		}
	}
}

// effect is one call of Do.
type effect struct {
	effectStatements
	db         *sql.DB
	invocation *store.Invocation
	busy       bool // another transaction has the key. An error does not tell: an action may return one of its own
}

func (e *effect) run(ctx context.Context, action func(ctx context.Context, tx *sql.Tx) (machine.Response, error)) (store.Effect, error) {
	if err := store.NotSent(ctx); err != nil {
		return store.Effect{}, err
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return store.Effect{}, unsent(ctx, err)
	}
	defer conn.Close() // which gives it back
	// The transaction does not end with ctx, which would be at any time, but when this returns.
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return store.Effect{}, unsent(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	c := &claim{effectStatements: e.effectStatements, tx: tx, invocation: e.invocation, own: true}
	err = c.begin(ctx)
	e.busy = held(err)
	if err != nil {
		return store.Effect{}, unsent(ctx, err)
	}
	if !c.granted {
		if err := c.commitDurably(ctx, c.all[c.candidate]); err != nil {
			return store.Effect{}, unsent(ctx, err)
		}
		return e.invocation.Answered(c.candidate, c.reply)
	}
	response, err := action(ctx, tx)
	if err != nil {
		return store.Effect{}, e.failed(ctx, conn, c, err)
	}
	at, err := c.end(ctx, response)
	if err != nil {
		if errors.Is(err, sql.ErrTxDone) { // by its own hand: nothing came after it
			return store.Effect{}, store.Indeterminate(errors.Join(errEnded, err))
		}
		if err = e.failed(ctx, conn, c, err); errors.Is(err, store.ErrIndeterminate) {
			return store.Effect{}, err
		}
		return store.Effect{}, unsent(ctx, err)
	}
	if err := tx.Commit(); err != nil {
		if certain(err) {
			return store.Effect{}, store.Unavailable(explain(err))
		}
		_ = conn.Close() // the look-up needs one too
		return e.settle(ctx, c, response, err)
	}
	return c.result(response, at), nil
}

// settle looks up whether a commit whose reply was lost has happened. The transaction holds the key until it
// has ended, so whoever gets it sees what came of it.
func (e *effect) settle(ctx context.Context, lost *claim, response machine.Response, cause error) (store.Effect, error) {
	for wait := gather.NewBackoff(); wait.Sleep(ctx); {
		found, err := e.look(ctx, lost.candidate)
		if errors.Is(err, store.ErrCorrupt) {
			return store.Effect{}, form.InDoubtStill(cause, err)
		}
		if err != nil {
			continue
		}
		if found != nil && found.State == machine.Completed && found.Nonce == e.invocation.Nonce {
			return lost.result(response, found.Finished), nil
		}
		return store.Effect{}, store.Unavailable(fmt.Errorf("the transaction was rolled back: %w", cause))
	}
	return store.Effect{}, form.InDoubtStill(cause, context.Cause(ctx))
}

// look returns the record of a candidate, holding its key for a moment.
func (e *effect) look(ctx context.Context, candidate int) (*machine.Record, error) {
	tx, err := e.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	c := &claim{effectStatements: e.effectStatements, tx: tx, invocation: e.invocation, own: true}
	h, err := c.hold(ctx, candidate)
	if err == nil {
		err = c.commitDurably(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	return h.record, nil
}

// commitDurably ends a transaction that has changed nothing. What it has read is durable then.
func (c *claim) commitDurably(ctx context.Context, h *heldKey) error {
	flushes, err := c.durable(ctx, h)
	if err != nil || !flushes {
		return err
	}
	return c.tx.Commit()
}
