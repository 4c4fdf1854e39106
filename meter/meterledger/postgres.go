package meterledger

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
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// postgres is PostgreSQL 14 or newer. The files say reprise for the schema; where it has another name, that
// is replaced.
type postgres struct{ dsn.Postgres }

// oldestPostgres is its server_version_num.
const oldestPostgres = 140000

func (p postgres) connect(o Options, q *queries) (*sql.DB, error) {
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

func (p postgres) files() fs.FS {
	sub, err := fs.Sub(postgresFiles, "postgres")
	if err != nil {
		return postgresFiles // cannot be: the name is a constant
	}
	return schemaFiles{sub, p.Schema}
}

func (postgres) form(sql string) (string, []int) { return sql, nil }

func (p postgres) prepare(ctx context.Context, tx *sql.Tx, q *queries) error {
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

func (p postgres) goose() (goose.Dialect, []goose.ProviderOption) {
	return goose.DialectPostgres, []goose.ProviderOption{goose.WithTableName(p.Schema + "." + versionsTable)}
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

func (postgres) insert(tx *transaction, s statement, arguments ...any) (id int64, err error) {
	return id, tx.one(s, arguments, &id)
}

// doneForm is a row of the done log in a batch.
type doneForm struct {
	Line          string      `json:"l"`
	Event         string      `json:"e"`
	App           string      `json:"a"`
	Bytes         int64       `json:"n"`
	At            int64       `json:"t"`
	Digest        string      `json:"h"`
	Individual    int64       `json:"i"`
	Shared        int64       `json:"s"`
	QoS           int64       `json:"q"`
	Blocked       int64       `json:"b"`
	Uncounted     int64       `json:"u"`
	Why           string      `json:"w"`
	Speed         int64       `json:"p"`
	Day           meter.Day   `json:"d"`
	Month         meter.Month `json:"m"`
	Family        string      `json:"f"`
	LineVersion   int64       `json:"v"`
	FamilyVersion int64       `json:"x"`
}

func (postgres) appendDone(tx *transaction, s statement, g meter.Generation, rows []meter.Row) (int64, error) {
	forms := make([]doneForm, len(rows))
	for i, row := range rows {
		e, r := row.Event, row.Result
		forms[i] = doneForm{
			e.Line, e.ID, e.App, e.Bytes, e.At.UnixMicro(), e.Digest().String(),
			r.Individual, r.Shared, r.QoS, r.Blocked, r.Uncounted, r.Why.String(), r.Speed,
			r.Day, r.Month, r.Family, r.LineVersion, r.FamilyVersion,
		}
	}
	text, err := batch(forms)
	if err != nil {
		return 0, err
	}
	return tx.exec(s, text, string(g))
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
