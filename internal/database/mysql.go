package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

// mariadb is MariaDB 10.6 or newer, or MySQL 8.
type mariadb struct{ dsn.MySQL }

// oldestServer is the oldest of its kind that understands the statements, as major and minor.
func oldestServer(version string) [2]int {
	if strings.Contains(version, "MariaDB") {
		return [2]int{10, 6}
	}
	return [2]int{8, 0}
}

// Numbers of the server's errors that the code knows. Some are MySQL's alone, or MariaDB's.
const (
	lockTimeout    = 1205
	deadlock       = 1213
	snapshotTooOld = 1020 // MariaDB's, with innodb_snapshot_isolation
	noTable        = 1146
)

func (m mariadb) connect(o Options, q *own) (*sql.DB, error) {
	config, err := m.Config()
	if err != nil {
		return nil, err
	}
	config.InterpolateParams = true // one round trip a statement, and no prepared statement to forget
	config.MultiStatements = false
	// The driver takes no argument in what MySQL reads as a comment.
	session := strings.ReplaceAll(q.session.text, "?", strconv.FormatInt(o.Timeout.Milliseconds(), 10))
	connector, err := dsn.InSession(config, session)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetConnMaxIdleTime(30 * time.Second) // before the server ends it
	return db, nil
}

func (mariadb) checkPooling(context.Context, *sql.DB) error { return nil }

func (mariadb) folder() string { return "mysql" }

func (m mariadb) place() string { return m.Database() }

func (mariadb) atomic() bool { return false }

func (mariadb) here(files fs.FS) fs.FS { return files }

var numbered = regexp.MustCompile(`\$[0-9]+`)

// form writes a question mark for each $n, and notes which argument stands there.
func (mariadb) form(sql string) (string, []int) {
	order := []int{}
	text := numbered.ReplaceAllStringFunc(sql, func(found string) string {
		n, err := strconv.Atoi(found[1:])
		if err != nil {
			return found
		}
		order = append(order, n-1)
		return "?"
	})
	return text, order
}

func (mariadb) prepare(ctx context.Context, tx *sql.Tx, q *own) error {
	var version string
	if err := tx.QueryRowContext(ctx, q.schemaExists.text).Scan(&version); err != nil {
		return err
	}
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // what cannot be read is too old
	if oldest := oldestServer(version); major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return fmt.Errorf("%w: the server is %s, and MariaDB 10.6, MySQL 8.0 or newer is needed", store.ErrSchema, version)
	}
	return nil
}

func (mariadb) account(role string) string { return dsn.MySQLAccount(role) }

func (mariadb) goose(versions string) (goose.Dialect, []goose.ProviderOption) {
	return goose.DialectMySQL, []goose.ProviderOption{goose.WithTableName(versions)}
}

func errorNumber(err error) uint16 {
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		return said.Number
	}
	return 0
}

func (mariadb) again(err error) bool {
	switch errorNumber(err) {
	case lockTimeout, deadlock, snapshotTooOld:
		return true
	}
	return false
}

func (mariadb) absent(err error) bool { return errorNumber(err) == noTable }

// refusals are the numbers with which the server says that it does not take a row: it lacks a value, one is out of range, not of its type or too
// long, it refers to none that is there, a constraint forbids it, or a trigger signals.
var refusals = [...]uint16{1048, 1264, 1366, 1406, 1452, 1644, 3819, 4025}

func (mariadb) refusal(err error) string {
	if said, ok := errors.AsType[*mysql.MySQLError](err); ok && slices.Contains(refusals[:], said.Number) {
		return said.Message
	}
	return ""
}

func (mariadb) undone(err error) bool { return dsn.MySQLUndone(err) }

func (mariadb) insert(tx *Tx, s Statement, arguments ...any) (int64, error) {
	result, err := tx.tx.ExecContext(tx.ctx, s.text, s.arguments(arguments)...)
	if err != nil {
		return 0, store.Unavailable(err)
	}
	return result.LastInsertId()
}
