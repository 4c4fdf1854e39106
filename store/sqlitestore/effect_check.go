package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"modernc.org/sqlite"
)

// check refuses a connection on which a commit would not be what it is in a store.
func (e *effect) check(ctx context.Context, q querier) error {
	if err := e.checkLibrary(ctx, q); err != nil {
		return err
	}
	var mode string
	if err := q.QueryRowContext(ctx, "PRAGMA main.journal_mode").Scan(&mode); err != nil {
		return err
	}
	var synchronous int64
	if err := q.QueryRowContext(ctx, "PRAGMA main.synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if err := e.checkFile(ctx, q); err != nil {
		return err
	}
	switch {
	case !strings.EqualFold(mode, "wal"):
		return fmt.Errorf("the pool's file has the journal mode %q, and a store has WAL: give the pool of the file that sqlitestore.Open has opened, and do not change the mode", mode)
	case synchronous < 2:
		return fmt.Errorf("the pool's connection has synchronous at %d, with which a loss of power loses commits: set PRAGMA synchronous = FULL on all of its connections, in its DSN", synchronous)
	}
	return nil
}

// checkFile refuses a file in which this store is not, or none that this version can work with.
func (e *effect) checkFile(ctx context.Context, q querier) error {
	if e.store != nil {
		return e.checkSame(ctx, q)
	}
	var version sql.NullInt64
	if err := q.QueryRowContext(ctx, schemaVersionSQL).Scan(&version); err != nil {
		return err
	}
	latest, err := latestSchema()
	if err != nil {
		return err
	}
	return contents{version: version.Int64}.check(e.file, Options{MustExist: true, NoMigration: true}, latest)
}

// checkSame refuses a file that is not the store's, which has looked at the schema when it was opened.
func (e *effect) checkSame(ctx context.Context, q querier) error {
	var number int64
	var name string
	var file sql.NullString
	if err := q.QueryRowContext(ctx, "PRAGMA database_list").Scan(&number, &name, &file); err != nil {
		return err
	}
	if file.String != "" { // else it is in memory
		if mark, err := markOf(file.String); err == nil && mark.same(e.store.file.opened[0]) {
			return nil
		}
	}
	return fmt.Errorf("the pool's file is %q, and the store's is %s: give the pool of the store's file", file.String, e.store.path)
}

// checkLibrary refuses a driver that brings a SQLite of its own. POSIX locks belong to a process. Two
// libraries in one do not lock each other out: both begin to write, and one's commit overwrites the other's.
func (e *effect) checkLibrary(ctx context.Context, q querier) error {
	if conn, ok := q.(*sql.Conn); ok && ours(conn) {
		return nil
	}
	ourLibrary := library
	if e.store != nil {
		ourLibrary = e.store.library
	}
	own, err := ourLibrary()
	if err != nil {
		return err
	}
	var theirs string
	if err := q.QueryRowContext(ctx, librarySQL).Scan(&theirs); err != nil {
		return err
	}
	if theirs != own {
		return errors.New("the pool's driver brings a SQLite of its own, and in one process its locks and those of the store's do not exclude each other: commits would be lost. Open the pool with modernc.org/sqlite, or with a driver on top of it, and use no other on this file")
	}
	return nil
}

// ours reports whether a connection is known to be one of the library that the store has.
func ours(conn *sql.Conn) (is bool) {
	_ = conn.Raw(func(raw any) error { // without an answer it is not known
		t := reflect.TypeOf(raw)
		is = t.Kind() == reflect.Pointer && t.Elem().PkgPath() == reflect.TypeFor[sqlite.Driver]().PkgPath()
		return nil
	})
	return is
}

// library tells the store's SQLite from others: of another version, or built otherwise.
func library() (is string, err error) {
	raw, err := new(sqlite.Driver).Open(":memory:")
	if err != nil {
		return "", err
	}
	c := &conn{raw: raw}
	err = c.query(librarySQL, 1, func(row []driver.Value) error {
		is, _ = row[0].(string)
		return nil
	})
	return is, errors.Join(err, c.close())
}
