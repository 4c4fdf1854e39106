package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/store"
)

const versionTable = "reprise_schema"

// SchemaStatus says which schema a file has.
type SchemaStatus struct {
	// Version is the file's schema; 0 is none.
	Version int64
	// Latest is the schema that this version of the package makes.
	Latest int64

	created bool
}

// Pending reports whether [Migrate] has something to do.
func (s SchemaStatus) Pending() bool { return s.Version < s.Latest }

// check refuses a schema that this version cannot work with: its own and the next one are accepted, so
// that processes of two versions can share a file during an upgrade.
func (s SchemaStatus) check(path string) error {
	if s.Version <= s.Latest+1 {
		return nil
	}
	return fmt.Errorf("%w: %s has schema %d, and this version works with %d and %d: upgrade this program, or restore a backup of the file from before its upgrade",
		store.ErrSchema, path, s.Version, s.Latest, s.Latest+1)
}

// Migrate creates the file at path if it is missing and brings its schema up to date, all of it or
// nothing, under the file's lock. It returns the status after that. [Open] does the same.
func Migrate(ctx context.Context, path string) (SchemaStatus, error) {
	path, err := locate(path, false)
	if err != nil {
		return SchemaStatus{}, err
	}
	return migrate(ctx, path, Options{}.withDefaults().BusyTimeout)
}

// Status reads the schema's version and changes nothing. A missing file is [fs.ErrNotExist].
func Status(ctx context.Context, path string) (SchemaStatus, error) {
	path, err := locate(path, true)
	if err != nil {
		return SchemaStatus{}, err
	}
	db, err := sql.Open("sqlite", dsn(path, "rw", Options{}.withDefaults().BusyTimeout, readerCache))
	if err != nil {
		return SchemaStatus{}, err
	}
	defer db.Close()
	m, err := newMigration(db)
	if err != nil {
		return SchemaStatus{}, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return SchemaStatus{}, explain(path, err)
	}
	defer conn.Close()
	m.status.Version, err = schemaVersion(ctx, conn)
	return m.status, explain(path, err)
}

// Print returns the SQL of all migrations, in their order.
func Print() string {
	var b strings.Builder
	names, _ := fs.Glob(schemaFiles, "schema/*.sql") // the pattern is good, and embedded files are there
	for _, name := range names {
		text, _ := fs.ReadFile(schemaFiles, name)
		fmt.Fprintf(&b, "-- %s\n%s\n", strings.TrimPrefix(name, "schema/"), text)
	}
	return b.String()
}

func migrate(ctx context.Context, path string, busy time.Duration) (SchemaStatus, error) {
	db, err := sql.Open("sqlite", dsn(path, "rwc", busy, readerCache))
	if err != nil {
		return SchemaStatus{}, err
	}
	defer db.Close()
	m, err := newMigration(db)
	if err != nil {
		return SchemaStatus{}, err
	}
	if err := m.run(ctx, busy); err != nil {
		return SchemaStatus{}, fmt.Errorf("prepare %s: %w", path, explain(path, err))
	}
	return m.status, m.status.check(path)
}

// migration brings one file up to date. As goose's session locker it puts all that goose does into one
// transaction, so that the lock is SQLite's own, and a migration that fails leaves nothing.
type migration struct {
	db       *sql.DB
	provider *goose.Provider
	status   SchemaStatus
}

func newMigration(db *sql.DB) (*migration, error) {
	m := &migration{db: db}
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return nil, err
	}
	m.provider, err = goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName(versionTable),
		goose.WithSessionLocker(m), goose.WithDisableGlobalRegistry(true),
		goose.WithIsolateDDL(true)) // no transactions of goose's own: it runs inside of ours
	if err != nil {
		return nil, err
	}
	sources := m.provider.ListSources()
	m.status.Latest = sources[len(sources)-1].Version
	return m, nil
}

func (m *migration) run(ctx context.Context, busy time.Duration) error {
	if err := m.enterWAL(ctx, busy); err != nil {
		return err
	}
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	found, err := schemaVersion(ctx, conn)
	if err = errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if m.status.Version = found; !m.status.Pending() {
		return nil
	}
	_, err = m.provider.Up(ctx)
	return err
}

// enterWAL makes the file keep a write-ahead log, which needs it alone for a moment. SQLite does not
// always wait for that by itself.
func (m *migration) enterWAL(ctx context.Context, busy time.Duration) error {
	patience, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	for wait := newBackoff(); ; {
		var mode string
		err := m.db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("the file system cannot hold a write-ahead log (journal mode stays %q): use a local disk", mode)
		}
		if code(err) != lib.SQLITE_BUSY || !wait.sleep(patience) {
			return err
		}
	}
}

// SessionLock implements goose's lock.SessionLocker.
func (m *migration) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	if err != nil {
		return err
	}
	m.status.Version, err = schemaVersion(ctx, conn)
	m.status.created = m.status.Version == 0
	return err
}

// SessionUnlock implements goose's lock.SessionLocker. Goose does not say how it ended; the version that
// it wrote last does.
func (m *migration) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil || version < m.status.Latest {
		_, rollback := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, rollback)
	}
	m.status.Version = version
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// schemaVersion returns the version of the schema that a file has, 0 for none.
func schemaVersion(ctx context.Context, conn *sql.Conn) (int64, error) {
	var tables int
	const find = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" + versionTable + "'"
	if err := conn.QueryRowContext(ctx, find).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var version sql.NullInt64
	err := conn.QueryRowContext(ctx, schemaVersionSQL).Scan(&version)
	return version.Int64, err
}
