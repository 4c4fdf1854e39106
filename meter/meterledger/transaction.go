package meterledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cenkalti/backoff/v5"

	"github.com/reprise-dev/reprise/store"
)

// tries is how often a transaction is begun again that was in the way of another, or saw half of what
// another did.
const tries = 20

// errAgain says that a transaction saw half of what another did.
var errAgain = errors.New("another transaction was faster")

// transaction is one, with the context that ends it.
type transaction struct {
	ctx context.Context
	tx  *sql.Tx
}

// change does something in a transaction that sees what is committed, and commits. What two transactions do to
// each other is hidden: one begins again. An error of work, or of a statement, is certain to have changed
// nothing; whether a commit that was not confirmed has, nobody knows.
func (l *Ledger) change(ctx context.Context, work func(*transaction) error) error {
	return l.repeat(ctx, sql.TxOptions{Isolation: sql.LevelReadCommitted}, work)
}

// look does something in a transaction that sees one moment and changes nothing.
func (l *Ledger) look(ctx context.Context, work func(*transaction) error) error {
	return l.repeat(ctx, sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, work)
}

func (l *Ledger) repeat(ctx context.Context, options sql.TxOptions, work func(*transaction) error) error {
	if err := store.NotSent(ctx); err != nil {
		return err
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := l.once(ctx, options, work)
		if err != nil && !errors.Is(err, errAgain) && !l.engine.again(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: backoff.DefaultInitialInterval / 500, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: backoff.DefaultInitialInterval / 5,
	}), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errAgain):
		return store.Unavailable(err)
	case l.engine.absent(err):
		return fmt.Errorf("%w: a table is not there: run `reprise migrate up --ledger %q`: %w", store.ErrSchema, l.engine, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) && errors.Is(err, cause) {
		return store.Unavailable(err) // it ended between two tries
	}
	return err
}

func (l *Ledger) once(ctx context.Context, options sql.TxOptions, work func(*transaction) error) error {
	tx, err := l.db.BeginTx(ctx, &options)
	if err != nil {
		return store.Unavailable(err)
	}
	if err := work(&transaction{ctx, tx}); err != nil {
		_ = tx.Rollback() // where that fails, the connection is gone, and the server does it
		return err
	}
	if err := tx.Commit(); err != nil {
		if l.engine.again(err) || options.ReadOnly {
			return store.Unavailable(err)
		}
		return store.Indeterminate(err)
	}
	return nil
}

// exec runs a statement and returns how many rows it changed.
func (t *transaction) exec(s statement, arguments ...any) (int64, error) {
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

// run runs a statement for its effect.
func (t *transaction) run(s statement, arguments ...any) error {
	_, err := t.exec(s, arguments...)
	return err
}

// each reads rows: the columns into to, and then it calls row.
func (t *transaction) each(s statement, arguments, to []any, row func() error) (err error) {
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

// one reads the first row, if there is one; else to stays as it is.
func (t *transaction) one(s statement, arguments []any, to ...any) error {
	return t.each(s, arguments, to, func() error { return nil })
}

// batch is any number of rows as one argument: a statement has the same text for every number of them, and
// there is no limit but that of a message. What is in it is ASCII, or was encoded by encoding/json.
func batch(rows any) (string, error) {
	text, err := json.Marshal(rows)
	return string(text), err
}

// ids is a batch of texts.
func ids(texts []string) (string, error) {
	if len(texts) == 0 {
		return "[]", nil
	}
	return batch(texts)
}
