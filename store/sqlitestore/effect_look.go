package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// querier is a pool, one of its connections, or a transaction on it.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// look reads the records of the candidates, in their order.
func (e *effect) look(ctx context.Context, q querier) (rows []row, err error) {
	for _, c := range e.invocation.Candidates {
		var found row
		var packed []byte
		err := q.QueryRowContext(ctx, loadSQL, c.Scope.Digest[:]).Scan(&found.id, &packed)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, err
		default:
			if found.record, err = decode(c.Scope.Digest, packed); err != nil {
				return nil, err
			}
		}
		rows = append(rows, found)
	}
	return rows, nil
}

func records(rows []row) []*machine.Record {
	records := make([]*machine.Record, len(rows))
	for i, r := range rows {
		records[i] = r.record
	}
	return records
}

// glance checks the connection, and answers from what is committed if that is known to be the answer. See
// [Store.Apply] for why it is as good as one that is given under the lock. Candidates are read one after
// the other. A later one has a record only if an earlier one can get none any more, and had none.
func (e *effect) glance(ctx context.Context, q querier) (known bool, _ store.Effect, _ error) {
	if err := e.check(ctx, q); err != nil {
		return false, store.Effect{}, e.unsent(ctx, err)
	}
	at := machine.InstantOf(e.now())
	rows, err := e.look(ctx, q)
	if err != nil {
		return false, store.Effect{}, e.unsent(ctx, err)
	}
	for _, r := range rows {
		if r.record != nil {
			at = max(at, r.record.Finished)
		}
	}
	candidate, _, reply, granted := e.invocation.Decide(records(rows), at)
	if granted || reply.Outcome == machine.Barred {
		return false, store.Effect{}, nil
	}
	result, err := e.invocation.Answered(candidate, reply)
	return true, result, err
}

// patiently tries what needs the write lock, until it is free or the patience is over. SQLite's own way of waiting
// naps too long: a busy writer would pass it over again and again.
func (e *effect) patiently(ctx context.Context, q querier, try func() error) (err error) {
	var own int64
	if err := q.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&own); err != nil {
		return err
	}
	if own > 0 {
		wait := func(ctx context.Context, ms int64) error {
			_, err := q.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", ms))
			return err
		}
		if err := wait(ctx, 0); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, wait(context.WithoutCancel(ctx), own)) }()
	}
	waiting, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	for wait := newBackoff(); ; {
		if err := try(); !busy(err) || stale(err) || !wait.sleep(waiting) {
			return err
		}
	}
}

// unsent translates an error after which nothing is changed, whatever came before it.
func (e *effect) unsent(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnavailable):
		return err
	case ctx.Err() != nil:
		return store.Unavailable(errors.Join(context.Cause(ctx), err))
	case noTable(err):
		return store.Unavailable(errors.Join(noStore("there is no store in %s: give the pool of the store's file, or open it with sqlitestore.Open first (Options.Beside, if it has tables)", e.file), err))
	}
	return certain(e.file, err)
}

// noTable reports whether an error says that a table of the store is missing.
func noTable(err error) bool {
	said := err.Error()
	return strings.Contains(said, "no such table: reprise_") || strings.Contains(said, "no such table: main.reprise_")
}
