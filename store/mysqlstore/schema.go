package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

// versionsTable is the table in which migrations are noted.
const versionsTable = "reprise_schema"

// migrationLock is the name of the lock under which a database is migrated; migrationPatience is for how many
// seconds it is waited for.
const (
	migrationLock     = "reprise.migrate"
	migrationPatience = 600
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

// check refuses a schema that this version cannot work with: its own and the next one are accepted, so
// that processes of two versions can share a database during an upgrade.
func (s SchemaStatus) check(d DSN) error {
	switch {
	case s.Version == 0:
		return fmt.Errorf("%w: the database has no tables of the store, or this user cannot see them: run `reprise migrate up --store %q`", store.ErrSchema, d)
	case s.Version < s.Latest:
		return fmt.Errorf("%w: the tables are at version %d, and this version works with %d and %d: run `reprise migrate up --store %q`",
			store.ErrSchema, s.Version, s.Latest, s.Latest+1, d)
	case s.Version > s.Latest+1:
		return fmt.Errorf("%w: the tables are at version %d, and this version works with %d and %d: upgrade this program",
			store.ErrSchema, s.Version, s.Latest, s.Latest+1)
	}
	return nil
}

// Migrate brings the tables in the database that a DSN names up to date, under a lock: processes that do it at
// the same time do it once. Statements that change tables cannot be rolled back here, but each can be
// repeated: a migration that was interrupted is begun again. It returns the status after that.
func Migrate(ctx context.Context, dsn string) (status SchemaStatus, err error) {
	err = withMigration(ctx, dsn, func(m *migration) error {
		if err := m.run(ctx); err != nil {
			return fmt.Errorf("prepare %v: %w", m.dsn, schemaError(ctx, err))
		}
		status = m.status
		return status.check(m.dsn)
	})
	return status, err
}

// Status reads the schema's version and changes nothing. A database whose tables are not those of its version is [store.ErrSchema].
func Status(ctx context.Context, dsn string) (status SchemaStatus, err error) {
	err = withMigration(ctx, dsn, func(m *migration) error {
		version, err := m.look(ctx)
		if err != nil {
			return fmt.Errorf("ask %v: %w", m.dsn, schemaError(ctx, err))
		}
		status = SchemaStatus{Version: version, Latest: m.status.Latest}
		return nil
	})
	return status, err
}

// migration brings one database up to date. It is goose's session locker.
type migration struct {
	dsn      DSN
	sql      *queries
	db       *sql.DB
	provider *goose.Provider
	status   SchemaStatus
}

func withMigration(ctx context.Context, text string, work func(*migration) error) error {
	d, err := ParseDSN(text)
	if err != nil {
		return err
	}
	config, err := d.config()
	if err != nil {
		return err
	}
	connector, err := dsn.InSession(config, "")
	if err != nil {
		return err
	}
	m := &migration{dsn: d, db: sql.OpenDB(connector)}
	defer m.db.Close()
	if m.sql, err = newQueries(serverClock); err != nil {
		return err
	}
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return err
	}
	m.provider, err = goose.NewProvider(goose.DialectMySQL, m.db, files, goose.WithTableName(versionsTable),
		goose.WithSessionLocker(m), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if m.status.Latest, err = latestSchema(); err != nil {
		return err
	}
	return work(m)
}

// schemaError translates an error of a migration, which can be repeated.
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
	m.status.Version, _, err = m.noted(ctx) // perhaps another process's doing
	return err
}

// prepare makes goose's table if it is missing.
func (m *migration) prepare(ctx context.Context) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := m.checkServer(ctx, conn); err != nil {
		return err
	}
	if err := m.SessionLock(ctx, conn); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, m.sql.createVersions.with()+m.sql.firstVersion.with())
	return errors.Join(err, m.SessionUnlock(ctx, conn))
}

// checkServer refuses servers that do not know what the store's statements need.
func (m *migration) checkServer(ctx context.Context, conn *sql.Conn) error {
	var version string
	if err := conn.QueryRowContext(ctx, m.sql.server.with()).Scan(&version); err != nil {
		return err
	}
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // what cannot be read is too old
	oldest := [2]int{8, 0}
	if isMariaDB(version) {
		oldest = [2]int{10, 6}
	}
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return fmt.Errorf("%w: the server is %s, and MariaDB 10.6, MySQL 8.0 or newer is needed", store.ErrSchema, version)
	}
	return nil
}

// isMariaDB tells by what a server says of its version.
func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// SessionLock implements goose's lock.SessionLocker.
func (m *migration) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, m.sql.lockDatabase.with([]byte(migrationLock), migrationPatience)).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = errors.New("another process migrates the database and does not end: look at SHOW PROCESSLIST")
	}
	return err
}

// SessionUnlock implements goose's lock.SessionLocker.
func (m *migration) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var had sql.NullInt64
	return conn.QueryRowContext(ctx, m.sql.unlockDatabase.with([]byte(migrationLock))).Scan(&had)
}

// noted returns the version of the schema that a database has, 0 for none, and whether one is noted at all: 0 is, before the first.
func (m *migration) noted(ctx context.Context) (int64, bool, error) {
	var version sql.NullInt64
	err := m.db.QueryRowContext(ctx, m.sql.schemaVersion.with()).Scan(&version)
	if number(err) == noTable {
		return 0, false, nil
	}
	return version.Int64, version.Valid, err
}

// latestSchema returns the number of the last migration.
func latestSchema() (int64, error) {
	names, err := fs.Glob(schemaFiles, "schema/*.sql")
	if err != nil || len(names) == 0 {
		return 0, errors.Join(err, errors.New("no migrations are embedded"))
	}
	return goose.NumericComponent(strings.TrimPrefix(names[len(names)-1], "schema/"))
}
