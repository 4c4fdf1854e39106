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

// Migrate creates the file at path if it is missing and brings its schema up to date, all of it or
// nothing, under the file's lock. It returns the status after that. [Open] does the same.
func Migrate(ctx context.Context, path string) (SchemaStatus, error) {
	path, err := locate(path, false)
	if err != nil {
		return SchemaStatus{}, err
	}
	return migrate(ctx, path, Options{}.withDefaults())
}

// Status reads the schema's version and changes nothing. Where there is no store the error is
// [fs.ErrNotExist].
func Status(ctx context.Context, path string) (SchemaStatus, error) {
	path, err := locate(path, true)
	if err != nil {
		return SchemaStatus{}, err
	}
	busy := Options{}.withDefaults().BusyTimeout
	m, err := openMigration(dsn(path, "rw", busy, readerCache), busy)
	if err != nil {
		return SchemaStatus{}, err
	}
	defer m.db.Close()
	found, err := m.look(ctx)
	if err != nil {
		return SchemaStatus{}, explain(path, err)
	}
	if err := found.refuse(path, true); err != nil {
		return SchemaStatus{}, err
	}
	m.status.Version = found.version
	return m.status, nil
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

func migrate(ctx context.Context, path string, options Options) (SchemaStatus, error) {
	name, done := dsn(path, "rw", options.BusyTimeout, readerCache), func() {}
	if !options.MustExist {
		var err error
		if name, done, err = makingDSN(path, options.BusyTimeout); err != nil {
			return SchemaStatus{}, err
		}
	}
	defer done()
	m, err := openMigration(name, options.BusyTimeout)
	if err != nil {
		return SchemaStatus{}, err
	}
	defer m.db.Close()
	found, err := m.look(ctx)
	if err != nil {
		return SchemaStatus{}, fmt.Errorf("look into %s: %w", path, explain(path, err))
	}
	found.other = found.other && !options.Beside
	if err := found.check(path, options, m.status.Latest); err != nil {
		return SchemaStatus{}, err
	}
	m.status.Version = found.version
	if err := m.run(ctx); err != nil {
		return SchemaStatus{}, fmt.Errorf("prepare %s: %w", path, explain(path, err))
	}
	return m.status, nil
}

// migration brings one file up to date. As goose's session locker it puts all that goose does into one
// transaction, so that the lock is SQLite's own, and a migration that fails leaves nothing.
type migration struct {
	db       *sql.DB // the caller closes it
	busy     time.Duration
	provider *goose.Provider
	status   SchemaStatus
}

func openMigration(name string, busy time.Duration) (*migration, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	m := &migration{db: db, busy: busy}
	files, err := fs.Sub(schemaFiles, "schema")
	if err == nil {
		m.provider, err = goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithTableName(versionTable),
			goose.WithSessionLocker(m), goose.WithDisableGlobalRegistry(true),
			goose.WithIsolateDDL(true)) // no transactions of goose's own: it runs inside of ours
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if m.status.Latest, err = latestSchema(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return m, nil
}

// latestSchema returns the number of the last migration.
func latestSchema() (int64, error) {
	names, err := fs.Glob(schemaFiles, "schema/*.sql")
	if err != nil || len(names) == 0 {
		return 0, errors.Join(err, errors.New("no migrations are embedded"))
	}
	return goose.NumericComponent(strings.TrimPrefix(names[len(names)-1], "schema/"))
}

// look reads what the file holds, and changes nothing.
func (m *migration) look(ctx context.Context) (found contents, err error) {
	err = m.patiently(ctx, func() error {
		conn, err := m.db.Conn(ctx)
		if err != nil {
			return err
		}
		found, err = readContents(ctx, conn)
		return errors.Join(err, conn.Close())
	})
	return found, err
}

// run changes a file in which there is nothing, or a store.
func (m *migration) run(ctx context.Context) error {
	if err := m.enterWAL(ctx); err != nil || !m.status.Pending() {
		return err
	}
	// Goose looks into its table, and makes it, before it takes the lock. So it is made first.
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if _, err := m.provider.Up(ctx); err != nil {
		return err
	}
	found, err := m.look(ctx)
	m.status.Version = found.version // perhaps another process's doing
	return err
}

// prepare makes goose's table under the lock, unless it is there.
func (m *migration) prepare(ctx context.Context) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	end := "COMMIT"
	_, err = conn.ExecContext(ctx, createVersionsSQL)
	if err != nil {
		end = "ROLLBACK"
	}
	_, failure := conn.ExecContext(context.WithoutCancel(ctx), end)
	return errors.Join(err, failure)
}

// enterWAL makes the file keep a write-ahead log, which needs it alone for a moment.
func (m *migration) enterWAL(ctx context.Context) error {
	return m.patiently(ctx, func() error {
		var mode string
		err := m.db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("the file system cannot hold a write-ahead log (journal mode stays %q): use a local disk", mode)
		}
		return err
	})
}

// patiently works again while another process keeps the file to itself: SQLite does not always wait for
// that.
func (m *migration) patiently(ctx context.Context, work func() error) error {
	patience, cancel := context.WithTimeout(ctx, m.busy)
	defer cancel()
	for wait := newBackoff(); ; {
		if err := work(); code(err) != lib.SQLITE_BUSY || !wait.sleep(patience) {
			return err
		}
	}
}

// SessionLock implements goose's lock.SessionLocker.
func (m *migration) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	found, err := readContents(ctx, conn)
	m.status.Version, m.status.created = found.version, found.version == 0
	return err
}

// SessionUnlock implements goose's lock.SessionLocker. Goose does not say how it ended; the version that
// it wrote last does.
func (m *migration) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	found, err := readContents(ctx, conn)
	if err != nil || found.version < m.status.Latest {
		_, rollback := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, rollback)
	}
	m.status.Version = found.version
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}
