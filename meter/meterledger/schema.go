package meterledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/store"
)

// versionsTable is the table in which migrations are noted.
const versionsTable = "meter_schema"

// SchemaStatus says which schema a database has.
type SchemaStatus struct {
	// Version is the database's; 0 is none.
	Version int64
	// Latest is the schema that this version of the package makes.
	Latest int64
}

// Pending reports whether [Migrate] has something to do.
func (s SchemaStatus) Pending() bool { return s.Version < s.Latest }

// check refuses a schema that this version cannot work with: its own and the next one are accepted, so that
// processes of two versions can share a database during an upgrade.
func (s SchemaStatus) check(at fmt.Stringer) error {
	switch {
	case s.Version < s.Latest:
		return fmt.Errorf("%w: the ledger's tables are at version %d (0: there are none, or this user cannot see them), and this version works with %d and %d: run `reprise migrate up --ledger %q`",
			store.ErrSchema, s.Version, s.Latest, s.Latest+1, at)
	case s.Version > s.Latest+1:
		return fmt.Errorf("%w: the ledger's tables are at version %d, and this version works with %d and %d: upgrade this program",
			store.ErrSchema, s.Version, s.Latest, s.Latest+1)
	}
	return nil
}

// Migrate brings the ledger's tables in the database that a DSN names up to date, under a lock: processes that do
// it at the same time do it once. A schema of PostgreSQL that is missing is created. It returns the status after that.
func Migrate(ctx context.Context, dsn string) (status SchemaStatus, err error) {
	l, err := connect(dsn, Options{MaxConns: 4, Timeout: 24 * time.Hour}) // the lock is held without a word
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if status, err = l.status(ctx); err == nil && status.Pending() {
		err = l.migrate(ctx)
	}
	if err == nil {
		status, err = l.status(ctx)
	}
	if err == nil {
		err = status.check(l.engine)
	}
	if err != nil {
		return status, fmt.Errorf("prepare %v: %w", l.engine, err)
	}
	return status, nil
}

// Status reads the version of the schema and changes nothing.
func Status(ctx context.Context, dsn string) (status SchemaStatus, err error) {
	l, err := connect(dsn, Options{MaxConns: 1})
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if status, err = l.status(ctx); err != nil {
		return status, fmt.Errorf("ask %v: %w", l.engine, err)
	}
	return status, nil
}

func (l *Ledger) status(ctx context.Context) (status SchemaStatus, err error) {
	var version sql.NullInt64
	err = l.db.QueryRowContext(ctx, l.sql.schemaVersion.text).Scan(&version)
	if err != nil && !l.engine.absent(err) {
		return status, store.Unavailable(err)
	}
	names, err := fs.Glob(l.engine.files(), "schema/*.sql")
	if err != nil || len(names) == 0 {
		return status, errors.Join(err, errors.New("no migrations are embedded"))
	}
	status.Version = version.Int64
	status.Latest, err = goose.NumericComponent(strings.TrimPrefix(names[len(names)-1], "schema/"))
	return status, err
}

// migrate runs what is missing while a transaction, which does nothing else, holds the lock. So the lock ends
// with the connection, and survives a PgBouncer.
func (l *Ledger) migrate(ctx context.Context) error {
	holder, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return store.Unavailable(err)
	}
	defer func() { _ = holder.Rollback() }()
	var got sql.NullInt64
	if err := holder.QueryRowContext(ctx, l.sql.lockSchema.text).Scan(&got); err != nil {
		return store.Unavailable(err)
	}
	if got.Int64 != 1 {
		return store.Unavailable(errors.New("another process migrates the database and does not end: look at the server's processes"))
	}
	if err := l.prepareSchema(ctx); err != nil {
		return err
	}
	files, err := fs.Sub(l.engine.files(), "schema")
	if err != nil {
		return err
	}
	dialect, options := l.engine.goose()
	provider, err := goose.NewProvider(dialect, l.db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return store.Unavailable(err)
	}
	_, err = holder.ExecContext(ctx, l.sql.unlockSchema.text)
	return err
}

// prepareSchema commits what goose needs before it begins.
func (l *Ledger) prepareSchema(ctx context.Context) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return store.Unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := l.engine.prepare(ctx, tx, l.sql); err != nil {
		if errors.Is(err, store.ErrSchema) {
			return err
		}
		return store.Unavailable(err)
	}
	return tx.Commit()
}
