package pgstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// request is a statement of the hot path. It goes over the wire as it is: arguments and columns are in the
// binary form of PostgreSQL, which for digests and packed records is no other than ours. A driver's way
// from any type to any other would cost as much as the rest of what this process does for a command.
type request struct {
	sql       string
	arguments [][]byte
	// row gets each row of the result; nil if it does not matter. The columns are good until it returns.
	row func(columns [][]byte) error
}

// binaryForm says so for all arguments, or all columns.
var binaryForm = []int16{1}

// exchange sends requests and reads what they return, in one round trip; the first time on a connection
// it takes one more for each. Unprepared they leave nothing behind in the session.
func exchange(ctx context.Context, conn *pgx.Conn, unprepared bool, requests ...request) error {
	batch := &pgconn.Batch{}
	for _, r := range requests {
		if unprepared {
			batch.ExecParams(r.sql, r.arguments, nil, binaryForm, binaryForm)
			continue
		}
		described, err := conn.Prepare(ctx, r.sql, r.sql)
		if err != nil {
			return err
		}
		if len(requests) == 1 {
			return readRows(conn.PgConn().ExecStatement(ctx, described, r.arguments, binaryForm, binaryForm), r.row)
		}
		batch.ExecStatement(described, r.arguments, binaryForm, binaryForm)
	}
	var unread error
	results := conn.PgConn().ExecBatch(ctx, batch)
	for n := 0; results.NextResult(); n++ {
		if err := readRows(results.ResultReader(), requests[n].row); unread == nil {
			unread = err
		}
	}
	if err := results.Close(); err != nil {
		return err
	}
	return unread
}

// readRows reads a result to its end. The server's error goes before that of row.
func readRows(result *pgconn.ResultReader, row func(columns [][]byte) error) error {
	var unread error
	for result.NextRow() {
		if unread == nil && row != nil {
			unread = row(result.Values())
		}
	}
	if _, err := result.Close(); err != nil {
		return err
	}
	return unread
}

// ask sends a request that is a transaction of its own.
func (s *Store) ask(ctx context.Context, conn *pgx.Conn, r request) error {
	if s.address.bouncer {
		return exchange(ctx, conn, true, request{sql: s.sql.transaction}, r)
	}
	return exchange(ctx, conn, false, r)
}

// onAny does something on any connection of the pool.
func (s *Store) onAny(ctx context.Context, work func(conn *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return work(conn.Conn())
}

// The forms of arguments. A key is known by two uuids, which are its digest's halves, and locked by a
// bigint, which is its first eight bytes.
func headForm(d *machine.Digest) []byte { return d[:16] }
func tailForm(d *machine.Digest) []byte { return d[16:] }
func lockForm(d *machine.Digest) []byte { return d[:8] }

// effectLockForm is that of the lock which only effects take: the same eight bytes as two integers.
func effectLockForm(d *machine.Digest) (high, low []byte) { return d[:4], d[4:8] }

func bigint(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

// bigintOrNull writes an instant that may be missing.
func bigintOrNull(at machine.Instant) []byte {
	if at.IsZero() {
		return nil
	}
	return bigint(int64(at))
}

// The forms of columns. NULL is zero.
func readBool(column []byte) bool { return len(column) == 1 && column[0] != 0 }

func readBigint(column []byte) int64 {
	if len(column) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(column))
}

// epoch is where PostgreSQL counts the microseconds of a timestamptz from: the year 2000.
const epoch machine.Instant = 946_684_800_000_000

func readTimestamp(column []byte) machine.Instant { return epoch + machine.Instant(readBigint(column)) }

var errColumns = errors.New("the server returned other columns than it was asked for")

// readRow reads the columns answered, claimed_at, forget_at, record and answer; nil if there is no row.
func readRow(columns [][]byte) (*form.Row, error) {
	switch {
	case len(columns) != 5:
		return nil, errColumns
	case columns[0] == nil:
		return nil, nil
	}
	return &form.Row{
		Answered: readBool(columns[0]), ClaimedAt: machine.Instant(readBigint(columns[1])), ForgetAt: machine.Instant(readBigint(columns[2])),
		Record: bytes.Clone(columns[3]), Answer: bytes.Clone(columns[4]),
	}, nil
}

// unprepared reports whether a connection of somebody's pool is to be left without prepared statements,
// which its configuration says. That is a copy, so the connection remembers.
func unprepared(conn *pgx.Conn) bool {
	const key = "reprise: unprepared"
	remembered, ok := conn.PgConn().CustomData()[key].(bool)
	if !ok {
		remembered = conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement
		conn.PgConn().CustomData()[key] = remembered
	}
	return remembered
}
