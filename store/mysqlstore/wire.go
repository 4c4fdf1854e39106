package mysqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// connector makes connections as the store uses them.
type connector struct {
	driver.Connector
	turnover *dsn.Turnover
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: made, statements: map[string]driver.Stmt{}, turnover: c.turnover}, nil
}

// conn is a connection as the driver has it, with its prepared statements. The ways of database/sql from any
// type to any other, and from a statement to a connection, would cost as much as the rest of what this process
// does for a command.
type conn struct {
	driver.Conn
	statements map[string]driver.Stmt
	turnover   *dsn.Turnover
	broken     bool // what is left behind in the session is not known, or it leads to a server that is of no use
}

// ResetSession implements driver.SessionResetter: it is called before a connection of the pool is used.
func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid implements driver.Validator: it is called before a connection goes back to the pool.
func (c *conn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !c.broken && (!ok || v.IsValid())
}

// errNotSent is wrapped by the error of something that was certainly not sent.
var errNotSent = errors.New("not sent")

var errDriver = errors.New("the driver cannot do that")

// exec runs statements without results: one that is prepared if there are arguments, else any number of them.
func (c *conn) exec(ctx context.Context, statement string, arguments ...driver.Value) (mysql.Result, error) {
	result, err := c.execAny(ctx, statement, arguments)
	if err != nil {
		c.judge(err)
		return nil, err
	}
	all, ok := result.(mysql.Result)
	if !ok {
		return nil, errDriver
	}
	return all, nil
}

func (c *conn) execAny(ctx context.Context, statement string, arguments []driver.Value) (driver.Result, error) {
	if len(arguments) == 0 {
		if e, ok := c.Conn.(driver.ExecerContext); ok {
			return e.ExecContext(ctx, statement, nil)
		}
		return nil, errDriver
	}
	prepared, err := c.prepare(ctx, statement)
	if err != nil {
		return nil, err
	}
	if e, ok := prepared.(driver.StmtExecContext); ok {
		return e.ExecContext(ctx, named(arguments))
	}
	return nil, errDriver
}

// query runs statements as exec does, and calls row with each row of their results, which is good until row
// returns. set counts the results that have columns.
func (c *conn) query(ctx context.Context, statement string, arguments []driver.Value, row func(set int, columns []driver.Value) error) (err error) {
	defer func() { c.judge(err) }()
	results, err := c.queryAny(ctx, statement, arguments)
	if err != nil {
		return err
	}
	defer func() {
		if failed := results.Close(); err == nil {
			err = failed
		}
	}()
	for set := 0; ; set++ {
		columns := make([]driver.Value, len(results.Columns()))
		for {
			if err := results.Next(columns); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if err := row(set, columns); err != nil {
				return err
			}
		}
		more, ok := results.(driver.RowsNextResultSet)
		if !ok || !more.HasNextResultSet() {
			return nil
		}
		if err := more.NextResultSet(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (c *conn) queryAny(ctx context.Context, statement string, arguments []driver.Value) (driver.Rows, error) {
	if len(arguments) == 0 {
		if q, ok := c.Conn.(driver.QueryerContext); ok {
			return q.QueryContext(ctx, statement, nil)
		}
		return nil, errDriver
	}
	prepared, err := c.prepare(ctx, statement)
	if err != nil {
		return nil, err
	}
	if q, ok := prepared.(driver.StmtQueryContext); ok {
		return q.QueryContext(ctx, named(arguments))
	}
	return nil, errDriver
}

func (c *conn) prepare(ctx context.Context, statement string) (driver.Stmt, error) {
	if prepared := c.statements[statement]; prepared != nil {
		return prepared, nil
	}
	p, ok := c.Conn.(driver.ConnPrepareContext)
	if !ok {
		return nil, errDriver
	}
	prepared, err := p.PrepareContext(ctx, statement)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	c.statements[statement] = prepared
	return prepared, nil
}

// judge looks whether an error is a reason not to use the connection again: the server has ended it, or has been lost behind a proxy, and with it
// the settings of the session; it does not know the connection's statements any more; or it does not write.
func (c *conn) judge(err error) {
	switch n := number(err); {
	case n == 0: // the driver knows for itself
	case dsn.NumberInDoubt(n), n == unknownStatement, dsn.Elsewhere(err) && c.turnover.Due():
		c.broken = true
	}
}

func named(arguments []driver.Value) []driver.NamedValue {
	values := make([]driver.NamedValue, len(arguments))
	for i, v := range arguments {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return values
}

// letGo ends a transaction that is to change nothing. Where that fails, the connection is given up, and the
// server does it.
func (s *Store) letGo(ctx context.Context, c *conn) {
	if _, err := c.exec(ctx, s.sql.rollback.with()); err != nil {
		c.broken = true
	}
}

// skipping does something with statements that skip what somebody holds.
func (s *Store) skipping(ctx context.Context, c *conn, work func() error) error {
	if _, err := c.exec(ctx, s.sql.patient.with()); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer func() {
		if _, err := c.exec(ctx, s.sql.hasty.with()); err != nil {
			c.broken = true
		}
	}()
	return work()
}

// on does something on a connection of the pool. An error of getting one is certain not to have sent anything.
func (s *Store) on(ctx context.Context, work func(*conn) error) error {
	pooled, err := s.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer pooled.Close() // which gives it back
	var failed error
	err = pooled.Raw(func(raw any) error {
		c, ok := raw.(*conn)
		if !ok {
			return errDriver
		}
		if failed = work(c); !c.IsValid() {
			return driver.ErrBadConn
		}
		return nil
	})
	if failed == nil && err != nil && !errors.Is(err, driver.ErrBadConn) {
		failed = err
	}
	return failed
}

// The forms of columns. NULL is zero.
func readInt(column driver.Value) int64 {
	switch v := column.(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	case []byte:
		n, _ := strconv.ParseInt(string(v), 10, 64) // what is no number is zero, which no instant is
		return n
	}
	return 0
}

func readInstant(column driver.Value) machine.Instant { return machine.Instant(readInt(column)) }

// readBytes returns bytes that stay good.
func readBytes(column driver.Value) []byte {
	b, _ := column.([]byte)
	return bytes.Clone(b)
}

var errColumns = errors.New("the server returned other columns than it was asked for")

// readDigest reads a digest.
func readDigest(column driver.Value) (d machine.Digest, err error) {
	if b, _ := column.([]byte); copy(d[:], b) != len(d) {
		return d, errColumns
	}
	return d, nil
}

// readRow reads the columns claimed_at, forget_at, record and, if there is one more, answer.
func readRow(columns []driver.Value) (form.Row, error) {
	if len(columns) != 3 && len(columns) != 4 {
		return form.Row{}, errColumns
	}
	row := form.Row{ClaimedAt: readInstant(columns[0]), ForgetAt: readInstant(columns[1]), Record: readBytes(columns[2])}
	if len(columns) == 4 {
		row.Answer = readBytes(columns[3])
	}
	return row, nil
}

// newPool returns a pool of such connections.
func newPool(d DSN, session string) (*sql.DB, error) {
	config, err := d.config()
	if err != nil {
		return nil, err
	}
	inner, err := dsn.InSession(config, session)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{inner, &dsn.Turnover{}}), nil
}

// readOne reads the number in the one row that a statement returns; NULL and no row leave it as it is.
func (c *conn) readOne(ctx context.Context, statement string, to *int64) error {
	return c.query(ctx, statement, nil, func(_ int, columns []driver.Value) error {
		if columns[0] != nil {
			*to = readInt(columns[0])
		}
		return nil
	})
}
