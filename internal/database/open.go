package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

// Kit is what a package keeps in a database.
type Kit struct {
	// Name says in texts what it is: "the ledger".
	Name string
	// Migrate is the command that brings the schema up to date, which is followed by the DSN in texts.
	Migrate string
	// Versions is the table in which migrations are noted.
	Versions string
	// Files has the folders postgres and mysql, and in each a folder schema.
	Files fs.FS
	// Statements are filled in from the files of their names.
	Statements map[string]*Statement
}

// Options are how a database is used. The zero value is right for most uses.
type Options struct {
	// MaxConns is how many connections there are at most; 0 is 16.
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

// DB is a database with the tables of a kit. Its methods may be called by any number of goroutines at once.
type DB struct {
	db       *sql.DB
	conns    int
	kit      Kit
	sql      own
	engine   engine
	turnover dsn.Turnover
}

// Open opens the database that a DSN names. A schema that is missing, older than the kit's or newer than the next one is
// refused with [store.ErrSchema]. The caller closes it.
func Open(ctx context.Context, text string, kit Kit, options Options) (*DB, error) {
	d, err := connect(text, kit, options)
	if err != nil {
		return nil, err
	}
	err = d.engine.checkPooling(ctx, d.db)
	if err == nil {
		var status SchemaStatus
		if status, err = d.status(ctx); err == nil {
			err = d.check(status)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %v: %w", d.engine, err), d.db.Close())
	}
	return d, nil
}

// connect is Open without a look at the schema, and connects to nothing yet.
func connect(text string, kit Kit, options Options) (*DB, error) {
	engine, err := parse(text, kit.Name)
	if err != nil {
		return nil, err
	}
	options = options.withDefaults()
	d := &DB{engine: engine, kit: kit, conns: options.MaxConns}
	if err := load(engine, ownFiles, d.sql.named(), strings.NewReplacer("VERSIONS", kit.Versions)); err != nil {
		return nil, err
	}
	if err := load(engine, kit.Files, kit.Statements, strings.NewReplacer()); err != nil {
		return nil, err
	}
	if d.db, err = engine.connect(options, &d.sql); err != nil {
		return nil, err
	}
	d.db.SetMaxOpenConns(options.MaxConns)
	d.db.SetMaxIdleConns(options.MaxConns)
	return d, nil
}

// Close closes the connections. Operations under way fail.
func (d *DB) Close() error { return d.db.Close() }

// String returns the DSN as a person may see it.
func (d *DB) String() string { return d.engine.String() }

// Now returns the server's time.
func (d *DB) Now(ctx context.Context) (now time.Time, err error) {
	err = d.Change(ctx, func(tx *Tx) error {
		now, err = d.NowIn(tx)
		return err
	})
	return now, err
}

// Ping asks whether the server answers.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.db.PingContext(ctx); err != nil {
		return store.Unavailable(err)
	}
	return nil
}

// NowIn is the server's time in a transaction.
func (d *DB) NowIn(tx *Tx) (time.Time, error) {
	var now int64
	err := tx.One(d.sql.now, nil, &now)
	return Instant(now), err
}
