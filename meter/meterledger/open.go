package meterledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
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

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = 16
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	return o
}

// Ledger is what the meter knows for sure, in a database. Its methods may be called by any number of goroutines
// and processes at once. Make one with [Open].
type Ledger struct {
	db     *sql.DB
	sql    *queries
	engine engine
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
	l, err := connect(dsn, options)
	if err != nil {
		return nil, err
	}
	status, err := l.status(ctx)
	if err == nil {
		err = status.check(l.engine)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %v: %w", l.engine, err), l.db.Close())
	}
	return l, nil
}

// connect is Open without a look at the schema, and connects to nothing yet.
func connect(dsn string, options Options) (*Ledger, error) {
	engine, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	options = options.withDefaults()
	l := &Ledger{engine: engine}
	if l.sql, err = newQueries(engine); err != nil {
		return nil, err
	}
	if l.db, err = engine.connect(options, l.sql); err != nil {
		return nil, err
	}
	l.db.SetMaxOpenConns(options.MaxConns)
	l.db.SetMaxIdleConns(options.MaxConns)
	return l, nil
}

// parse returns the engine of a DSN.
func parse(text string) (engine, error) {
	switch scheme, _, _ := strings.Cut(text, ":"); scheme {
	case "postgres", "postgresql":
		p, err := dsn.ParsePostgres(text)
		return postgres{p}, ledgers(err)
	case "mysql":
		m, err := dsn.ParseMySQL(text)
		return mariadb{m}, ledgers(err)
	default:
		return nil, fmt.Errorf("the ledger's DSN begins with %q: write postgres://… or mysql://…", scheme)
	}
}

func ledgers(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the ledger: %w", err)
}

// Close closes the connections. Operations under way fail.
func (l *Ledger) Close() error { return l.db.Close() }

// Now returns the server's time, by which everything here is stamped and aged.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := l.change(ctx, func(tx *transaction) error { return tx.one(l.sql.now, nil, &now) })
	return instant(now), err
}

// Ping asks whether the server answers.
func (l *Ledger) Ping(ctx context.Context) error {
	if err := l.db.PingContext(ctx); err != nil {
		return store.Unavailable(err)
	}
	return nil
}
