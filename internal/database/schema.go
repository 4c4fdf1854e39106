package database

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
func (d *DB) check(s SchemaStatus) error {
	switch {
	case s.Version < s.Latest:
		return fmt.Errorf("%w: %s's tables are at version %d (0: there are none, or this user cannot see them), and this version works with %d and %d: run `%s %q`",
			store.ErrSchema, d.kit.Name, s.Version, s.Latest, s.Latest+1, d.kit.Migrate, d.engine)
	case s.Version > s.Latest+1:
		return fmt.Errorf("%w: %s's tables are at version %d, and this version works with %d and %d: upgrade this program",
			store.ErrSchema, d.kit.Name, s.Version, s.Latest, s.Latest+1)
	}
	return nil
}

// Migrate brings the tables of a kit in the database that a DSN names up to date, under a lock: processes that do
// it at the same time do it once. A schema of PostgreSQL that is missing is created. It returns the status after that.
func Migrate(ctx context.Context, dsn string, kit Kit) (status SchemaStatus, err error) {
	d, err := connect(dsn, kit, Options{MaxConns: 4, Timeout: 24 * time.Hour}) // the lock is held without a word
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err = d.engine.checkPooling(ctx, d.db); err == nil {
		status, err = d.look(ctx)
	}
	if err == nil && status.Pending() {
		err = d.migrate(ctx)
	}
	if err == nil {
		status, err = d.status(ctx)
	}
	if err == nil {
		err = d.check(status)
	}
	if err != nil {
		return status, fmt.Errorf("prepare %v: %w", d.engine, err)
	}
	return status, nil
}

// Status reads the version of the schema and changes nothing. A database whose tables are not those of its version is [store.ErrSchema].
func Status(ctx context.Context, dsn string, kit Kit) (status SchemaStatus, err error) {
	d, err := connect(dsn, kit, Options{MaxConns: 1})
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if status, err = d.look(ctx); err != nil {
		return status, fmt.Errorf("ask %v: %w", d.engine, err)
	}
	return status, nil
}

func (d *DB) status(ctx context.Context) (SchemaStatus, error) {
	status, _, err := d.noted(ctx)
	return status, err
}

// noted is status, and says whether a version is noted at all: 0 is, before the first migration.
func (d *DB) noted(ctx context.Context) (status SchemaStatus, noted bool, err error) {
	var version sql.NullInt64
	err = d.db.QueryRowContext(ctx, d.sql.schemaVersion.text).Scan(&version)
	if err != nil && !d.engine.absent(err) {
		return status, false, store.Unavailable(err)
	}
	names, err := fs.Glob(d.files(), "schema/*.sql")
	if err != nil || len(names) == 0 {
		return status, false, errors.Join(err, errors.New("no migrations are embedded"))
	}
	status.Version = version.Int64
	status.Latest, err = goose.NumericComponent(strings.TrimPrefix(names[len(names)-1], "schema/"))
	return status, version.Valid, err
}

// migrate runs what is missing while a transaction, which does nothing else, holds the lock. So the lock ends
// with the connection, and survives a PgBouncer.
func (d *DB) migrate(ctx context.Context) error {
	holder, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return store.Unavailable(err)
	}
	defer func() { _ = holder.Rollback() }()
	var got sql.NullInt64
	if err := holder.QueryRowContext(ctx, d.sql.lockSchema.text, d.lock()).Scan(&got); err != nil {
		return store.Unavailable(err)
	}
	if got.Int64 != 1 {
		return store.Unavailable(errors.New("another process migrates the database and does not end: look at the server's processes"))
	}
	if err := d.prepareSchema(ctx); err != nil {
		return err
	}
	files, err := fs.Sub(d.files(), "schema")
	if err != nil {
		return err
	}
	dialect, options := d.engine.goose(d.kit.Versions)
	provider, err := goose.NewProvider(dialect, d.db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return store.Unavailable(err)
	}
	_, err = holder.ExecContext(ctx, d.sql.unlockSchema.text, d.lock())
	return err
}

// prepareSchema commits what goose needs before it begins.
func (d *DB) prepareSchema(ctx context.Context) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return store.Unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := d.engine.prepare(ctx, tx, &d.sql); err != nil {
		if errors.Is(err, store.ErrSchema) {
			return err
		}
		return store.Unavailable(err)
	}
	return tx.Commit()
}

// lock is the name of the lock of the kit's schema.
func (d *DB) lock() string { return d.kit.Versions + ".migrate" }

// files are the kit's for this engine.
func (d *DB) files() fs.FS {
	sub, err := fs.Sub(d.kit.Files, d.engine.folder())
	if err != nil {
		return d.kit.Files // cannot be: the name is a constant
	}
	return d.engine.here(sub)
}
