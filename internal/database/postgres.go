package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

// postgres is PostgreSQL 14 or newer. The files say reprise for the schema; where it has another name, that
// is replaced.
type postgres struct{ dsn.Postgres }

// oldestPostgres is its server_version_num.
const oldestPostgres = 140000

func (p postgres) connect(o Options, q *own) (*sql.DB, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	c := config.ConnConfig
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "reprise"
	}
	if p.Bouncer { // nothing may be left behind in a session
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		return stdlib.OpenDB(*c), nil
	}
	return stdlib.OpenDB(*c, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, q.session.text, strconv.FormatInt(o.Timeout.Milliseconds(), 10))
		return err
	})), nil
}

func (p postgres) checkPooling(ctx context.Context, db *sql.DB) error {
	if !p.Bouncer {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		err = tx.Rollback()
	}
	switch {
	case err == nil:
		return nil
	case dsn.StatementMode(err): // to wait is no use
		return fmt.Errorf("%w: %w", dsn.ErrStatementMode, err)
	}
	return store.Unavailable(err)
}

// postgresFolder is where its statements are.
const postgresFolder = "postgres"

func (postgres) folder() string { return postgresFolder }

func (p postgres) place() string { return p.Schema }

func (postgres) atomic() bool { return true }

func (p postgres) here(files fs.FS) fs.FS { return schemaFiles{files, p.Schema} }

func (postgres) form(sql string) (string, []int) { return sql, nil }

func (p postgres) prepare(ctx context.Context, tx *sql.Tx, q *own) error {
	var schema bool
	var server int
	if err := tx.QueryRowContext(ctx, q.schemaExists.text, p.Schema).Scan(&schema, &server); err != nil {
		return err
	}
	if server < oldestPostgres {
		return fmt.Errorf("%w: the server is PostgreSQL %d, and %d or newer is needed", store.ErrSchema, server/10000, oldestPostgres/10000)
	}
	if schema { // making it takes a right that a role may not have
		return nil
	}
	_, err := tx.ExecContext(ctx, q.createSchema.text)
	return err
}

func (postgres) account(role string) string { return dsn.PostgresRole(role) }

func (p postgres) goose(versions string) (goose.Dialect, []goose.ProviderOption) {
	return goose.DialectPostgres, []goose.ProviderOption{goose.WithTableName(p.Schema + "." + versions)}
}

func sqlState(err error) string {
	var said interface{ SQLState() string }
	if errors.As(err, &said) {
		return said.SQLState()
	}
	return ""
}

func (postgres) again(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	}
	return false
}

func (postgres) absent(err error) bool {
	switch sqlState(err) {
	case "42P01", "3F000": // undefined table, invalid schema
		return true
	}
	return false
}

// What the server says of a row that it does not take, beside the classes of data exceptions and violated constraints.
const (
	raised         = "P0001" // by a trigger
	checkViolation = "23514"
)

func (postgres) refusal(err error) string {
	said, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return ""
	case said.Code == checkViolation && said.ConstraintName == "": // the partition of the row is not there yet
		return ""
	case said.Code == raised, strings.HasPrefix(said.Code, "22"), strings.HasPrefix(said.Code, "23"):
		return said.Message
	}
	return ""
}

func (postgres) undone(err error) bool { return dsn.PostgresUndone(err) }

func (postgres) insert(tx *Tx, s Statement, arguments ...any) (id int64, err error) {
	return id, tx.One(s, arguments, &id)
}

// schemaFiles are files for one schema.
type schemaFiles struct {
	fs.FS
	schema string
}

// Open implements fs.FS.
func (f schemaFiles) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") || f.schema == dsn.DefaultSchema {
		return file, err
	}
	text, err := io.ReadAll(file)
	replaced := strings.NewReplacer(dsn.DefaultSchema+".", f.schema+".", "SCHEMA "+dsn.DefaultSchema, "SCHEMA "+f.schema).Replace(string(text))
	return schemaFile{file, strings.NewReader(replaced)}, err
}

type schemaFile struct {
	fs.File
	text *strings.Reader
}

// Read implements fs.File.
func (f schemaFile) Read(b []byte) (int, error) { return f.text.Read(b) }
