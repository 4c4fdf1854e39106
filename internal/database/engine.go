package database

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// engine is what differs between the servers, beside the statements. There are two: postgres and mariadb.
type engine interface {
	// fmt.Stringer returns the DSN as a person may see it.
	fmt.Stringer
	// connect returns a pool whose sessions are as the statements need them.
	connect(Options, *own) (*sql.DB, error)
	// folder is where the statements of the engine are.
	folder() string
	// place is the schema, or the database, that the tables are in.
	place() string
	// atomic reports whether a migration leaves all of its tables or none.
	atomic() bool
	// here makes the engine's files those of the DSN's schema.
	here(fs.FS) fs.FS
	// checkPooling refuses what lies between here and the server and has no transactions.
	checkPooling(context.Context, *sql.DB) error
	// form puts a statement into the form that the driver wants, and says in which order it wants arguments:
	// nil for that of their numbers.
	form(sql string) (text string, order []int)
	// prepare makes what goose needs to begin, in the transaction that holds the lock of the schema.
	prepare(context.Context, *sql.Tx, *own) error
	// account writes a role as SQL has it.
	account(role string) string
	// goose says how goose is to work.
	goose(versions string) (goose.Dialect, []goose.ProviderOption)
	// again reports whether an error says that two transactions were in each other's way.
	again(error) bool
	// absent reports whether an error says that a table is not there.
	absent(error) bool
	// undone reports whether an error is an answer of the server after which the statement has changed nothing.
	undone(error) bool
	// refusal returns the server's words if an error says that it does not take what a statement was given, such as a row that a constraint
	// forbids; else "". The same would be refused again, and something else may be taken.
	refusal(error) string
	// insert executes an insert of one row and returns the number that the server gave it.
	insert(*Tx, Statement, ...any) (int64, error)
}

// parse returns the engine of a DSN.
func parse(text, what string) (engine, error) {
	var e engine
	var err error
	switch scheme, _, _ := strings.Cut(text, ":"); scheme {
	case "postgres", "postgresql":
		var p dsn.Postgres
		p, err = dsn.ParsePostgres(text)
		e = postgres{p}
	case "mysql":
		var m dsn.MySQL
		m, err = dsn.ParseMySQL(text)
		e = mariadb{m}
	default:
		return nil, fmt.Errorf("%s's DSN begins with %q: write postgres://… or mysql://…", what, scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return e, nil
}

// Statement is SQL in the form that the driver of an engine wants.
type Statement struct {
	text  string
	order []int
}

// Text returns the SQL as the driver gets it.
func (s Statement) Text() string { return s.text }

// arguments puts arguments into the order in which the driver wants them.
func (s Statement) arguments(all []any) []any {
	if s.order == nil {
		return all
	}
	ordered := make([]any, len(s.order))
	for i, n := range s.order {
		ordered[i] = all[n]
	}
	return ordered
}

//go:embed postgres/*.sql mysql/*.sql
var ownFiles embed.FS

// own are the statements that every kit needs.
type own struct {
	lockSchema, unlockSchema, schemaVersion, schemaExists, createSchema, tables, session, explain, now Statement
}

func (o *own) named() map[string]*Statement {
	return map[string]*Statement{
		"lock_schema": &o.lockSchema, "unlock_schema": &o.unlockSchema, "schema_version": &o.schemaVersion,
		"schema_exists": &o.schemaExists, "create_schema": &o.createSchema, "tables": &o.tables, "session": &o.session, "explain": &o.explain, "now": &o.now,
	}
}

// load reads statements: one file each.
func load(e engine, files fs.FS, named map[string]*Statement, replace *strings.Replacer) error {
	sub, err := fs.Sub(files, e.folder())
	if err != nil {
		return err
	}
	sub = e.here(sub)
	for name, to := range named {
		text, err := fs.ReadFile(sub, name+".sql")
		if err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
		to.text, to.order = e.form(replace.Replace(dsn.Statement(string(text))))
	}
	return nil
}

// Instant returns a time of the server, which is kept as microseconds; 0 is the zero time.
func Instant(microseconds int64) time.Time {
	if microseconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(microseconds).UTC()
}
