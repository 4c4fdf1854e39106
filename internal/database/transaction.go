package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cenkalti/backoff/v5"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

// tries is how often a transaction is begun again that was in the way of another, or saw half of what
// another did.
const tries = 20

// ErrAgain says that a transaction saw half of what another did.
var ErrAgain = errors.New("another transaction was faster")

// Tx is a transaction, with the context that ends it.
type Tx struct {
	ctx    context.Context
	tx     *sql.Tx
	engine engine
}

// Change does something in a transaction that sees what is committed, and commits. What two transactions do to
// each other is hidden: one begins again. An error of work, or of a statement, is certain to have changed
// nothing; whether a commit that was not confirmed has, nobody knows.
func (d *DB) Change(ctx context.Context, work func(*Tx) error) error {
	return d.repeat(ctx, sql.TxOptions{Isolation: sql.LevelReadCommitted}, work)
}

// Look does something in a transaction that sees one moment and changes nothing.
func (d *DB) Look(ctx context.Context, work func(*Tx) error) error {
	return d.repeat(ctx, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, work)
}

func (d *DB) repeat(ctx context.Context, options sql.TxOptions, work func(*Tx) error) error {
	return d.retry(ctx, func() error { return d.once(ctx, options, work) })
}

// Refusal returns the server's words if an error of Change says that the server does not take what it was given, such as a row that a constraint
// forbids; else "". Nothing was changed then.
func (d *DB) Refusal(err error) string { return d.engine.refusal(err) }

// retry tries something again that was in the way of another transaction.
func (d *DB) retry(ctx context.Context, try func() error) error {
	if err := store.NotSent(ctx); err != nil {
		return err
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := try()
		d.turn(err)
		if err != nil && !errors.Is(err, ErrAgain) && !d.engine.again(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: backoff.DefaultInitialInterval / 500, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: backoff.DefaultInitialInterval / 5,
	}), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrAgain):
		return store.Unavailable(err)
	case d.engine.absent(err):
		return fmt.Errorf("%w: a table is not there: run `%s %q`: %w", store.ErrSchema, d.kit.Migrate, d.engine, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) && errors.Is(err, cause) {
		return store.Unavailable(err) // it ended between two tries
	}
	return err
}

// turn gives up the connections that wait for use where one has led to a server that does not write.
func (d *DB) turn(err error) {
	if dsn.Elsewhere(err) && d.turnover.Due() {
		d.db.SetMaxIdleConns(0)
		d.db.SetMaxIdleConns(d.conns)
	}
}

func (d *DB) once(ctx context.Context, options sql.TxOptions, work func(*Tx) error) error {
	tx, err := d.db.BeginTx(ctx, &options)
	if err != nil {
		return store.Unavailable(err)
	}
	if err := work(&Tx{ctx, tx, d.engine}); err != nil {
		_ = tx.Rollback() // where that fails, the connection is gone, and the server does it
		return err
	}
	if err := tx.Commit(); err != nil {
		if d.engine.again(err) || options.ReadOnly {
			return store.Unavailable(err)
		}
		return store.Indeterminate(err)
	}
	return nil
}

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(s Statement, arguments ...any) (int64, error) {
	result, err := t.tx.ExecContext(t.ctx, s.text, s.arguments(arguments)...)
	if err != nil {
		return 0, store.Unavailable(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, store.Unavailable(err)
	}
	return n, nil
}

// Run runs a statement for its effect.
func (t *Tx) Run(s Statement, arguments ...any) error {
	_, err := t.Exec(s, arguments...)
	return err
}

// Each reads rows: the columns into to, and then it calls row.
func (t *Tx) Each(s Statement, arguments, to []any, row func() error) (err error) {
	rows, err := t.tx.QueryContext(t.ctx, s.text, s.arguments(arguments)...)
	if err != nil {
		return store.Unavailable(err)
	}
	defer func() {
		if failed := rows.Close(); err == nil && failed != nil {
			err = store.Unavailable(failed)
		}
	}()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return store.Unavailable(err)
		}
		if err := row(); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil { // an error is never the end of the rows
		return store.Unavailable(err)
	}
	return nil
}

// One reads the first row, if there is one; else to stays as it is.
func (t *Tx) One(s Statement, arguments []any, to ...any) error {
	return t.Each(s, arguments, to, func() error { return nil })
}

// Batch is any number of rows as one argument: a statement has the same text for every number of them, and
// there is no limit but that of a message. What is in it is ASCII, or was encoded by encoding/json.
func Batch(rows any) (string, error) {
	text, err := json.Marshal(rows)
	return string(text), err
}

// IDs is a batch of texts.
func IDs(texts []string) (string, error) {
	if len(texts) == 0 {
		return "[]", nil
	}
	return Batch(texts)
}

// Insert runs an insert of one row and returns the number that the server gave it; PostgreSQL's statement returns
// it.
func (t *Tx) Insert(s Statement, arguments ...any) (int64, error) {
	return t.engine.insert(t, s, arguments...)
}

// Do runs one statement by itself, in one round trip, and returns how many rows it changed. No pause of this process
// can come between it and its commit. A deadlock is begun again.
func (d *DB) Do(ctx context.Context, s Statement, arguments ...any) (n int64, err error) {
	err = d.retry(ctx, func() error {
		result, err := d.db.ExecContext(ctx, s.text, s.arguments(arguments)...)
		switch {
		case err == nil:
			n, err = result.RowsAffected()
			return err
		case d.engine.undone(err):
			return store.Unavailable(err)
		}
		return store.Indeterminate(err)
	})
	return n, err
}
