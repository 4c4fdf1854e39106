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

// wentOn reports whether an action may have done something after its transaction had ended, which SQLite committed by itself. One that ends
// it by its handle has no way to. One that returns an error with which SQLite may have rolled back is taken not to have, unless the file has
// changed; and where that is the error of a statement of ours, it had nothing left to do.
func (a *attempt) wentOn(cause error) bool {
	returned := rollsBack(cause) || errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded)
	return a.gone && (!returned || a.touched && !failing(cause))
}

// versionNow is the version of the file as the connection sees it, which its own commits change, and those of others once it reads again;
// 0 if that cannot be told.
func (a *attempt) versionNow() (version uint32) {
	if a.conn != nil {
		_ = a.conn.Raw(func(raw any) error {
			version, _ = versionOf(raw)
			return nil
		})
	}
	return version
}

// failing reports whether an error says that the disk fails or is full, or that there is no memory: then SQLite gives up what it knew of the
// file, and its version is another one although nothing was committed.
func failing(err error) bool {
	switch code(err) {
	case lib.SQLITE_NOMEM, lib.SQLITE_FULL, lib.SQLITE_IOERR:
		return true
	}
	return false
}

// rollsBack reports whether an error is one with which SQLite may have rolled the transaction back by itself, or of a statement that was cut
// short by that. It does so where it has no memory or room, where the disk fails or a statement is interrupted, and where a constraint says so.
// After any other error the transaction is there, unless it had ended before.
func rollsBack(err error) bool {
	switch code(err) {
	case lib.SQLITE_NOMEM, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_INTERRUPT, lib.SQLITE_CONSTRAINT, lib.SQLITE_BUSY, lib.SQLITE_ABORT:
		return true
	}
	return false
}

// orphaned is the error of an action that may have gone on after its transaction, and left no record: so that the next try does not run it
// again, its key becomes unknown.
func (a *attempt) orphaned(ctx context.Context, db *sql.DB, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.patience)
	defer cancel()
	err := a.orphan(ctx, db)
	if err != nil {
		err = fmt.Errorf("and the key could not be made unknown: the next try runs it again: %w", err)
	}
	return store.Indeterminate(errors.Join(errEnded, err, cause))
}

// orphan writes that nobody knows what came of the action. Where somebody else has used the key since, that stands.
func (a *attempt) orphan(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	h, err := a.begin(ctx, conn)
	defer h.end()
	if err != nil {
		return err
	}
	o := &attempt{effect: a.effect, tx: h.tx}
	rows, err := o.look(h.ctx, h.tx)
	if err != nil {
		return err
	}
	at := machine.InstantOf(a.now())
	candidate, begun, _, granted := a.invocation.Decide(records(rows), at)
	if !granted {
		return nil
	}
	fail := a.invocation.Fail(a.invocation.Hold(candidate, begun.Attempt, begun.Revision), false, errEnded.Error(), machine.Response{})
	next, reply := machine.Step(begun, fail, at.Time())
	if next == begun {
		return fmt.Errorf("it cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	if _, err := o.write(h.ctx, rows[candidate].id, next); err != nil {
		return err
	}
	if err := o.commit(h); err != nil {
		discard(conn)
		return err
	}
	o.candidate = candidate
	_, err = a.done(store.Effect{Scope: o.scope()})
	return err
}
