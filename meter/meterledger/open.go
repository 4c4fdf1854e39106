package meterledger

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// Options are how a database is used. The zero value is right for most uses.
type Options struct {
	// Migrate brings the schema up to date first, as [Migrate] does. That takes a user who may.
	Migrate bool
	// MaxConns is how many connections the ledger has at most; 0 is 16.
	MaxConns int
	// Timeout is how long a server waits for this process in the middle of a transaction, before it frees what
	// that holds; 0 is 30 s, and MySQL waits a minute. Callers wait as long as their contexts say.
	Timeout time.Duration
}

// Ledger is what the meter knows for sure, in a database. Its methods may be called by any number of goroutines
// and processes at once. Make one with [Open].
type Ledger struct {
	db  *database.DB
	sql *queries
}

// Open opens the ledger in the database that a DSN names, one of
//
//	postgres://user:password@host:5432/database?schema=reprise
//	mysql://user:password@host:3306/database?tls=true
//
// It does not prepare the schema unless Options say so. One that is missing, older than this version's or newer
// than the next one is refused with [store.ErrSchema]. The caller closes the ledger.
func Open(ctx context.Context, dsn string, options Options) (*Ledger, error) {
	if options.Migrate {
		if _, err := Migrate(ctx, dsn); err != nil {
			return nil, err
		}
	}
	l := &Ledger{sql: &queries{}}
	db, err := database.Open(ctx, dsn, l.sql.kit(), database.Options{MaxConns: options.MaxConns, Timeout: options.Timeout})
	if err != nil {
		return nil, err
	}
	l.db = db
	return l, nil
}

// Close closes the connections. Operations under way fail.
func (l *Ledger) Close() error { return l.db.Close() }

// Now returns the server's time, by which everything here is stamped and aged.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) { return l.db.Now(ctx) }

// Ping asks whether the server answers.
func (l *Ledger) Ping(ctx context.Context) error { return l.db.Ping(ctx) }

// SchemaStatus says which schema a database has.
type SchemaStatus = database.SchemaStatus

// Migrate brings the ledger's tables in the database that a DSN names up to date, under a lock: processes that do
// it at the same time do it once. A schema of PostgreSQL that is missing is created. It returns the status after that.
func Migrate(ctx context.Context, dsn string) (SchemaStatus, error) {
	return database.Migrate(ctx, dsn, new(queries).kit())
}

// Print returns a script that does what [Migrate] does to a database without the ledger's tables, for those who run such things
// themselves, and connects to nothing. It ends with the rights of a role, or on MySQL of a user, that can work with the ledger and not
// change its tables; without a role they stand as a comment.
func Print(dsn, role string) (string, error) { return database.Print(dsn, new(queries).kit(), role) }

// CheckDSN reports what is wrong with a DSN, and connects to nothing. The error repeats no password.
func CheckDSN(dsn string) error { return database.CheckDSN(dsn, new(queries).kit()) }

// Status reads the version of the schema and changes nothing.
func Status(ctx context.Context, dsn string) (SchemaStatus, error) {
	return database.Status(ctx, dsn, new(queries).kit())
}
