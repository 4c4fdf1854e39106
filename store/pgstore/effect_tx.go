package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// effectTx is the transaction of an effect as its action sees it. It is a transaction of the connection
// that was begun together with the claim, in one round trip, which pgx has no way to do.
type effectTx struct {
	conn      *pgx.Conn
	savepoint int  // 0: the transaction itself
	deepest   *int // number of savepoints so far
	closed    bool
}

var errNotYours = errors.New("the transaction ends with the action: return from it, with an error to roll back")

// Begin begins a part that can be rolled back by itself.
func (t *effectTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if t.closed {
		return nil, pgx.ErrTxClosed
	}
	if t.deepest == nil {
		t.deepest = new(int)
	}
	*t.deepest++
	part := &effectTx{conn: t.conn, savepoint: *t.deepest, deepest: t.deepest}
	if _, err := t.conn.Exec(ctx, "SAVEPOINT "+part.name()); err != nil {
		return nil, err
	}
	return part, nil
}

func (t *effectTx) name() string { return fmt.Sprintf("reprise_%d", t.savepoint) }

// Commit keeps a part. The transaction itself is committed by Do.
func (t *effectTx) Commit(ctx context.Context) error { return t.end(ctx, "RELEASE SAVEPOINT ") }

// Rollback undoes a part. The transaction itself is rolled back by Do, if the action returns an error.
func (t *effectTx) Rollback(ctx context.Context) error { return t.end(ctx, "ROLLBACK TO SAVEPOINT ") }

func (t *effectTx) end(ctx context.Context, how string) error {
	switch {
	case t.savepoint == 0:
		return errNotYours
	case t.closed:
		return pgx.ErrTxClosed
	}
	t.closed = true
	_, err := t.conn.Exec(ctx, how+t.name())
	return err
}

// CopyFrom implements [pgx.Tx].
func (t *effectTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, from pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, from)
}

// SendBatch implements [pgx.Tx].
func (t *effectTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, b)
}

// LargeObjects implements [pgx.Tx]. Only pgx can make one, from a transaction that it has begun: this one
// begins with nothing, inside of ours. Should even that fail, the connection is broken.
func (t *effectTx) LargeObjects() pgx.LargeObjects {
	inside, err := t.conn.BeginTx(context.Background(), pgx.TxOptions{BeginQuery: "SELECT 1"})
	if err != nil {
		return pgx.LargeObjects{}
	}
	return inside.LargeObjects()
}

// Prepare implements [pgx.Tx].
func (t *effectTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return t.conn.Prepare(ctx, name, sql)
}

// Exec implements [pgx.Tx].
func (t *effectTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, sql, args...)
}

// Query implements [pgx.Tx].
func (t *effectTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, sql, args...)
}

// QueryRow implements [pgx.Tx].
func (t *effectTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, sql, args...)
}

// Conn implements [pgx.Tx].
func (t *effectTx) Conn() *pgx.Conn { return t.conn }
