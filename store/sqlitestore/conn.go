package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// conn is one connection, used by one goroutine at a time. It speaks to the driver itself:
// database/sql would cost the hot path a third of its speed for a pool that is not needed.
type conn struct {
	raw      driver.Conn
	prepared []*statement
}

// How much of the file a connection keeps in memory, in KiB. Readers lose what they keep at every commit
// of somebody else's; the writer has the pages of the index that it changes again and again.
const (
	readerCache = 2 << 10
	writerCache = 16 << 10
)

// dsn names the file to the driver. mode is SQLite's: rwc creates a missing file, rw does not. busy is
// how long a statement waits for another connection's lock.
func dsn(path, mode string, busy time.Duration, cache int) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	options := url.Values{"mode": {mode}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", min(busy.Milliseconds(), math.MaxInt32)), // SQLite takes a larger number for none
		"synchronous(FULL)",        // a commit is on the disk before it is acknowledged
		"wal_autocheckpoint(4000)", // pages; hot index pages are copied back once, not every few groups
		fmt.Sprintf("cache_size(%d)", -cache),
	}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()
}

// makingDSN is dsn for whoever makes the file if it is missing or empty: for its owner only, because it
// holds callers' answers. SQLite takes the mode from a file that is there until done is called, and gives
// the log and the shared memory that of the database.
func makingDSN(path string, busy time.Duration) (name string, done func(), err error) {
	name = dsn(path, "rwc", busy, readerCache)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return name, func() {}, nil
	}
	model, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // its mode is 0600
	if err != nil {
		return "", nil, fmt.Errorf("%s cannot be made: give this user the right to write its directory: %w", path, err)
	}
	done = func() { _ = os.Remove(model.Name()) }
	if err := model.Close(); err != nil {
		done()
		return "", nil, err
	}
	return name + "&modeof=" + strings.ReplaceAll(url.QueryEscape(model.Name()), "+", "%20"), done, nil // SQLite reads no +
}

// connect opens a connection to a file that exists.
func connect(path string, busy time.Duration, cache int) (*conn, error) {
	raw, err := new(sqlite.Driver).Open(dsn(path, "rw", busy, cache))
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw}, nil
}

// close ends the connection and rolls back what it has begun.
func (c *conn) close() error {
	var failures []error
	for _, s := range c.prepared {
		failures = append(failures, s.stmt.Close())
	}
	return errors.Join(append(failures, c.raw.Close())...)
}

// readOnly reports whether SQLite could open the file for reading only, which it does without a word.
func (c *conn) readOnly() bool {
	r, ok := c.raw.(interface {
		IsReadOnly(schema string) (bool, error)
	})
	if !ok {
		return false
	}
	is, err := r.IsReadOnly("main")
	return is && err == nil
}

// version counts the changes of the file that this connection knows of, its own ones too. ok is false if
// that cannot be told.
func (c *conn) version() (version uint32, ok bool) { return versionOf(c.raw) }

// versionOf is version of a driver's connection.
func versionOf(raw any) (version uint32, ok bool) {
	f, ok := raw.(interface {
		FileControlDataVersion(schema string) (uint32, error)
	})
	if !ok {
		return 0, false
	}
	version, err := f.FileControlDataVersion("main")
	return version, err == nil
}

// prepare returns a statement that lives as long as the connection.
func (c *conn) prepare(query string) (*statement, error) {
	s, err := c.statement(query)
	if err == nil {
		c.prepared = append(c.prepared, s)
	}
	return s, err
}

func (c *conn) statement(query string) (*statement, error) {
	stmt, err := c.raw.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	return &statement{stmt: stmt}, nil
}

// query runs a query that is not worth keeping prepared and hands each row to visit.
func (c *conn) query(query string, columns int, visit func(row []driver.Value) error, args ...any) error {
	s, err := c.statement(query)
	if err != nil {
		return err
	}
	defer s.stmt.Close()
	s.row = make([]driver.Value, columns)
	return s.query(visit, args...)
}

// exec runs a statement that is not worth keeping prepared.
func (c *conn) exec(query string, args ...any) error {
	s, err := c.statement(query)
	if err != nil {
		return err
	}
	defer s.stmt.Close()
	_, err = s.exec(args...)
	return err
}

// statement is a prepared statement with room for its arguments and its row. Both are used again by the
// next call; nothing in a row but its blobs and texts may be kept.
type statement struct {
	stmt driver.Stmt
	args []driver.NamedValue
	row  []driver.Value
}

// bind takes int64, string, []byte and nil.
func (s *statement) bind(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

// exec runs the statement and returns how many rows it changed. Statements run to their end whatever
// the caller's context: one that was cut short would leave open what it did.
func (s *statement) exec(args ...any) (int64, error) {
	result, err := s.run(args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs the statement and returns the id of the row that it made, if it made one.
func (s *statement) insert(args ...any) (id int64, made bool, err error) {
	result, err := s.run(args)
	if err != nil {
		return 0, false, err
	}
	rows, err := result.RowsAffected()
	if err != nil || rows == 0 {
		return 0, false, err
	}
	id, err = result.LastInsertId()
	return id, true, err
}

func (s *statement) run(args []any) (driver.Result, error) {
	result, err := s.stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.bind(args))
	clear(s.args)
	return result, err
}

// query hands each row to visit, which must not keep the slice.
func (s *statement) query(visit func(row []driver.Value) error, args ...any) (err error) {
	rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.bind(args))
	clear(s.args)
	if err != nil {
		return err
	}
	// Closing ends the snapshot; a failure to do so is one of the query.
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		switch err := rows.Next(s.row); err {
		case nil:
			if err := visit(s.row); err != nil {
				return err
			}
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
