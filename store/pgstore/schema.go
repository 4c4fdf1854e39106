package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/store"
)

// oldestServer is the server_version_num of the oldest PostgreSQL that understands the schema.
const oldestServer = 140000

// SchemaStatus says which schema a database has.
type SchemaStatus struct {
	// Version is the database's; 0 is none.
	Version int64
	// Latest is the schema that this version of the package makes.
	Latest int64
}

// Pending reports whether [Migrate] has something to do.
func (s SchemaStatus) Pending() bool { return s.Version < s.Latest }

// check refuses a schema that this version cannot work with: its own and the next one are accepted, so
// that processes of two versions can share a database during an upgrade.
func (s SchemaStatus) check(a address) error {
	switch {
	case s.Version == 0:
		return fmt.Errorf("%w: there is no schema %q in the database, or this role cannot see it: run `reprise migrate up --store %q`",
			store.ErrSchema, a.schema, a)
	case s.Version < s.Latest:
		return fmt.Errorf("%w: schema %q is at version %d, and this version works with %d and %d: run `reprise migrate up --store %q`",
			store.ErrSchema, a.schema, s.Version, s.Latest, s.Latest+1, a)
	case s.Version > s.Latest+1:
		return fmt.Errorf("%w: schema %q is at version %d, and this version works with %d and %d: upgrade this program",
			store.ErrSchema, a.schema, s.Version, s.Latest, s.Latest+1)
	}
	return nil
}

// Migrate brings the schema that a DSN names up to date, all of it or nothing, under a lock: processes
// that do it at the same time do it once. A schema that is missing is created. It returns the status after
// that.
func Migrate(ctx context.Context, dsn string) (status SchemaStatus, err error) {
	err = withMigration(ctx, dsn, func(m *migration) error {
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("prepare %v: %w", m.address, schemaError(ctx, err))
		}
		status = m.status
		return status.check(m.address)
	})
	return status, err
}

// Status reads the schema's version and changes nothing. One whose tables are not those of its version is [store.ErrSchema].
func Status(ctx context.Context, dsn string) (status SchemaStatus, err error) {
	err = withMigration(ctx, dsn, func(m *migration) error {
		version, err := m.look(ctx)
		if err != nil {
			return fmt.Errorf("ask %v: %w", m.address, schemaError(ctx, err))
		}
		status = SchemaStatus{Version: version, Latest: m.status.Latest}
		return nil
	})
	return status, err
}

// migration brings one database up to date. As goose's session locker it puts all that goose does into one
// transaction, so that the lock ends with it, and a migration that fails leaves nothing.
type migration struct {
	address  address
	sql      *queries
	db       *sql.DB
	provider *goose.Provider
	status   SchemaStatus
}

func withMigration(ctx context.Context, dsn string, work func(*migration) error) error {
	a, err := parseAddress(dsn)
	if err != nil {
		return err
	}
	config, err := a.poolConfig()
	if err != nil {
		return err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // leaves nothing behind, as a PgBouncer needs it
	m := &migration{address: a}
	if m.sql, err = newQueries(a.schema); err != nil {
		return err
	}
	m.db = stdlib.OpenDB(*config.ConnConfig)
	defer m.db.Close()
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return err
	}
	m.provider, err = goose.NewProvider(goose.DialectPostgres, m.db, migrationFiles{files, a.schema}, goose.WithTableName(a.schema+".reprise_schema"),
		goose.WithSessionLocker(m), goose.WithDisableGlobalRegistry(true),
		goose.WithIsolateDDL(true)) // no transactions of goose's own: it runs inside of ours
	if err != nil {
		return err
	}
	if m.status.Latest, err = latestSchema(); err != nil {
		return err
	}
	return work(m)
}

// migrationFiles are the migrations for one schema: what its name is in the files, is replaced.
type migrationFiles struct {
	fs.FS
	schema string
}

// Open implements fs.FS.
func (m migrationFiles) Open(name string) (fs.File, error) {
	file, err := m.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	return migrationFile{file, strings.NewReader(inSchema(string(text), m.schema))}, err
}

type migrationFile struct {
	fs.File
	text *strings.Reader
}

// Read implements fs.File.
func (f migrationFile) Read(b []byte) (int, error) { return f.text.Read(b) }

// schemaError translates an error of a migration, which has left nothing.
func schemaError(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrSchema) {
		return err
	}
	return unsent(ctx, err)
}

func (m *migration) run(ctx context.Context) (err error) {
	if m.status.Version, err = m.look(ctx); err != nil || !m.status.Pending() {
		return err
	}
	// Goose looks into its table before it takes the lock, so the table is made first.
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if _, err := m.provider.Up(ctx); err != nil {
		return err
	}
	m.status.Version, err = m.version(ctx, m.db) // perhaps another process's doing
	return err
}

// prepare makes the schema and goose's table if they are missing. Whether they are is looked at first:
// making them takes a right that a role may not have.
func (m *migration) prepare(ctx context.Context) error {
	tx, err := m.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, m.sql.lockSchema, m.address.schema); err != nil {
		return err
	}
	var schema, table bool
	var server int
	if err := tx.QueryRowContext(ctx, m.sql.schemaExists, m.address.schema).Scan(&schema, &table, &server); err != nil {
		return err
	}
	if server < oldestServer {
		return fmt.Errorf("%w: the server is PostgreSQL %d, and %d or newer is needed", store.ErrSchema, server/10000, oldestServer/10000)
	}
	if !schema {
		if _, err := tx.ExecContext(ctx, m.sql.createSchema); err != nil {
			return err
		}
	}
	if !table {
		if _, err := tx.ExecContext(ctx, m.sql.createVersions); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// SessionLock implements goose's lock.SessionLocker.
func (m *migration) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, beginSQL); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, m.sql.lockSchema, m.address.schema); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, m.sql.setPath, m.address.schema)
	return err
}

// SessionUnlock implements goose's lock.SessionLocker. Goose does not say how it ended; the version that
// it wrote last does, unless the transaction has failed.
func (m *migration) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	version, err := m.version(ctx, conn)
	if err != nil || version < m.status.Latest {
		_, rollback := conn.ExecContext(ctx, "ROLLBACK")
		return rollback // goose has told what went wrong
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// version returns the version of the schema that a database has, 0 for none.
func (m *migration) version(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (int64, error) {
	var version sql.NullInt64
	err := from.QueryRowContext(ctx, m.sql.schemaVersion).Scan(&version)
	if absent(err) {
		return 0, nil
	}
	return version.Int64, err
}

// latestSchema returns the number of the last migration.
func latestSchema() (int64, error) {
	names, err := fs.Glob(schemaFiles, "schema/*.sql")
	if err != nil || len(names) == 0 {
		return 0, errors.Join(err, errors.New("no migrations are embedded"))
	}
	return goose.NumericComponent(strings.TrimPrefix(names[len(names)-1], "schema/"))
}
