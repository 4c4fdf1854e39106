package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// attempt is an effect in a transaction that holds the write lock.
//
// The record is written twice: as begun before the action, and with its answer after it. Committed is only
// the second form, unless the action commits by itself. Then the first one says that it has begun.
//
// All of it is in a savepoint. It is undone if the action fails in somebody else's transaction, and it is
// not there any more if the action has ended the transaction, even if it has begun another.
type attempt struct {
	*effect
	tx         *sql.Tx
	conn       *sql.Conn // that tx is on; nil where it is not known
	version    uint32    // of the file, on that connection, before the action; 0 where it cannot be told
	candidate  int
	begun      row
	acting     bool // what fails is the action, and not a statement of ours
	refused    bool // it was not begun
	over       bool // the transaction is not there any more
	gone       bool // SQLite says so: what the action did after it was committed by itself
	touched    bool // and something was
	committing bool // it ended when it was to be committed
}

const (
	effectSavepoint = "SAVEPOINT reprise_effect"
	effectKeep      = "RELEASE reprise_effect"
	effectUndo      = "ROLLBACK TO reprise_effect"
)

var errEnded = errors.New("the action ended the transaction that its answer was to be recorded in: it is to return instead, with an error to roll back")

// run decides, and runs the action if the key is granted. Whatever it returns but an effect that is not a
// replay has left nothing in the transaction, unless that is over.
func (a *attempt) run(ctx context.Context, action func(ctx context.Context) (machine.Response, error)) (result store.Effect, err error) {
	rows, err := a.look(ctx, a.tx)
	if err != nil {
		return store.Effect{}, err
	}
	candidate, begun, reply, granted := a.invocation.Decide(records(rows), machine.InstantOf(a.now()))
	if !granted {
		a.refused = true
		return a.invocation.Answered(candidate, reply)
	}
	if _, err := a.tx.ExecContext(ctx, effectSavepoint); err != nil {
		return store.Effect{}, err
	}
	kept := false
	defer func() { // after a panic as well
		if !kept {
			a.undo(ctx)
		}
	}()
	a.candidate = candidate
	if a.begun, err = a.write(ctx, rows[candidate].id, begun); err != nil {
		return store.Effect{}, err
	}
	a.acting, a.version = true, a.versionNow()
	response, err := action(ctx)
	if err != nil {
		return store.Effect{}, err
	}
	result, err = a.finish(ctx, response)
	kept = err == nil
	return result, err
}

// finish records the answer.
func (a *attempt) finish(ctx context.Context, response machine.Response) (store.Effect, error) {
	end, reply := a.invocation.Finish(a.candidate, a.begun.record, response, machine.InstantOf(a.now()))
	if reply.Outcome != machine.CompletedNow {
		return store.Effect{}, fmt.Errorf("the action's answer cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	a.acting = false
	if _, err := a.write(ctx, a.begun.id, end); err != nil {
		return store.Effect{}, err
	}
	if _, err := a.tx.ExecContext(ctx, effectKeep); err != nil {
		return store.Effect{}, err
	}
	return store.Effect{Response: response, Scope: a.scope(), Reply: reply}, nil
}

func (a *attempt) scope() machine.Scope { return a.invocation.Candidates[a.candidate].Scope }

// write writes a record in the row with an id, or in a new one.
func (a *attempt) write(ctx context.Context, id int64, r *machine.Record) (row, error) {
	packed, err := r.AppendBinary(nil)
	if err != nil {
		return row{}, err
	}
	statement, args := insertSQL, insertArgs(r, packed)
	if id != 0 {
		statement, args = updateSQL, updateArgs(id, r, packed)
	}
	result, err := a.tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return row{}, err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return row{}, errors.Join(errMoved, err)
	}
	if id == 0 {
		id, err = result.LastInsertId()
	}
	return row{id, r}, err
}

// undo leaves the transaction as it was before.
func (a *attempt) undo(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, statement := range []string{effectUndo, effectKeep} {
		if _, err := a.tx.ExecContext(ctx, statement); err != nil {
			a.over, a.gone = true, code(err) == lib.SQLITE_ERROR
			a.touched = a.gone && a.versionNow() != a.version
			return
		}
	}
}

// commit ends the transaction of [Effects.Do].
func (a *attempt) commit(h *held) error {
	if h.ctx.Err() != nil {
		a.over = true // it is being rolled back
		return context.Cause(h.ctx)
	}
	err := h.tx.Commit()
	a.committing = err != nil && !certainlyNotCommitted(err)
	a.over = a.committing
	return err
}

// undone translates the error of an attempt of which nothing is left. ended says why its time was over, if it was.
func (a *attempt) undone(ctx context.Context, ended, cause error) error {
	switch {
	case a.refused:
		return cause
	case errors.Is(ended, errLimit):
		return store.Unavailable(fmt.Errorf("%w, and was rolled back after %v: do what is slow before it, or raise Effects.Limit: %w", errLimit, a.limit, cause))
	case ended != nil:
		return store.Unavailable(errors.Join(ended, cause))
	case a.acting:
		return cause
	case a.over && code(cause) <= lib.SQLITE_ERROR: // SQLite itself has another code
		return store.Unavailable(fmt.Errorf("%w. It was rolled back: %w", errEnded, cause))
	}
	return a.unsent(ctx, cause)
}

// settle finds out what became of a transaction that is over.
func (a *attempt) settle(ctx context.Context, db *sql.DB, ended error, result store.Effect, cause error) (store.Effect, error) {
	found, err := a.left(ctx, db)
	switch {
	case err != nil:
		err = store.Indeterminate(errors.Join(cause, err))
	case a.committing && found != nil && found.State == machine.Completed:
		return a.done(result)
	case a.committing: // a commit whose sync failed may come back from the log after a crash
		err = store.Indeterminate(explain(a.file, cause))
	case found != nil:
		err = store.Indeterminate(fmt.Errorf("%w. It was committed, with the record that the key has begun: %w", errEnded, cause))
	case a.wentOn(cause):
		err = a.orphaned(ctx, db, cause)
	default:
		err = a.undone(ctx, ended, cause)
	}
	return store.Effect{}, err
}

// left returns what the attempt has left of its record, nil if nothing. It does not wait for locks.
func (a *attempt) left(ctx context.Context, db *sql.DB) (*machine.Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.patience)
	defer cancel()
	rows, err := a.look(ctx, db)
	if err != nil {
		return nil, err
	}
	if r := rows[a.candidate].record; r != nil && r.Nonce == a.invocation.Nonce {
		return r, nil
	}
	return nil, nil
}

// done is for an effect that is committed.
func (e *effect) done(result store.Effect) (store.Effect, error) {
	if e.store == nil {
		return result, nil
	}
	e.store.watchers.wake([]machine.Digest{result.Scope.Digest})
	if err := e.store.file.look(); err != nil {
		return store.Effect{}, err
	}
	return result, nil
}
