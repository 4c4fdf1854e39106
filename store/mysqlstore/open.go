package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Options are how a database is used. The zero value is right for most uses.
type Options struct {
	// Migrate brings the schema up to date first, as [Migrate] does. That takes a user who may, so a
	// service leaves it to whoever deploys it.
	Migrate bool
	// MaxConns is how many connections the store has at most; 0 is 16. At least 4.
	MaxConns int
	// GroupLimit is how many commands share a commit at most; 0 is 128.
	GroupLimit int
	// Timeout is how long the store waits for the server to answer for a group, before it gives the
	// connection up; 0 is 10 s. Callers wait as long as their contexts say. MariaDB waits as long for the
	// store in the middle of a transaction, MySQL for a minute: then it frees the key, because a process
	// whose machine or network is gone cannot.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = 16
	}
	o.MaxConns = max(o.MaxConns, 4)
	if o.GroupLimit <= 0 {
		o.GroupLimit = 128
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	return o
}

// Store is a [store.Store] in a database of MariaDB or MySQL. It is also a [store.Lister], [store.Counter],
// [store.Purger], [store.Watcher], [store.SecretKeeper] and [store.Importer]. Make one with [Open].
type Store struct {
	dsn     DSN
	options Options
	sql     *queries
	pool    *sql.DB
	returns bool // the server can return what it inserts: MariaDB

	looks   *gather.Group[look]
	commits *gather.Group[form.Write]
	// steps and errands bound how many connections are used for what does not go through a group, so
	// that groups never wait for one.
	steps      chan struct{}
	errands    chan struct{}
	turns      gather.Turns
	memory     gather.Memory
	held       heldKeys
	durability durability
	// replays says that the last claim met a record: the next one looks before it tries to make one.
	replays  atomic.Bool
	seen     atomic.Int64 // the latest time of the server that was seen
	writing  atomic.Int64 // commands that were written so far
	watchers watchers

	life    context.Context // ends when Close has waited for the commands under way
	end     context.CancelFunc
	closing chan struct{} // closed when Close begins
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // commands under way
	helpers sync.WaitGroup // goroutines that end with life
}

// Open opens the store in the database that a DSN names:
//
//	mysql://user:password@host:3306/database?tls=true
//
// tls is true (encrypted, and the server's certificate is verified), skip-verify (encrypted), preferred
// (encrypted if the server can; this is the default) or false. ca=FILE names the certificate to trust, where
// that is not the system's. Nothing else may be in it: what the store relies on it sets by itself.
//
// Open does not prepare the schema unless Options say so. One that is missing, older than this version's
// or newer than the next one is refused with [store.ErrSchema]. The caller closes the store.
func Open(ctx context.Context, dsn string, options Options) (*Store, error) {
	return open(ctx, dsn, options, serverClock)
}

func open(ctx context.Context, dsn string, options Options, clock clock) (*Store, error) {
	d, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if options.Migrate {
		if _, err := Migrate(ctx, dsn); err != nil {
			return nil, err
		}
	}
	s := &Store{dsn: d, options: options.withDefaults(), closing: make(chan struct{})}
	if s.sql, err = newQueries(clock); err != nil {
		return nil, err
	}
	idle := int(math.Ceil(s.options.Timeout.Seconds()))
	if s.pool, err = newPool(d, s.sql.session.with(idle)); err != nil {
		return nil, err
	}
	s.pool.SetMaxOpenConns(s.options.MaxConns)
	s.pool.SetMaxIdleConns(s.options.MaxConns)
	s.pool.SetConnMaxIdleTime(30 * time.Second) // before MySQL ends it
	if err = s.checkSchema(ctx); err == nil {
		err = s.checkServer(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	s.start()
	return s, nil
}

// start divides the connections and starts what serves the groups.
func (s *Store) start() {
	n := s.options.MaxConns
	errands, lookers, committers := max(1, n/8), max(1, n/4), 1
	if n >= 6 {
		committers = 2
	}
	s.errands = make(chan struct{}, errands)
	s.steps = make(chan struct{}, n-errands-lookers-committers)
	s.life, s.end = context.WithCancel(context.Background())
	s.looks = gather.NewGroup(s.options.GroupLimit, s.options.Timeout, s.lookUp)
	s.commits = gather.NewGroup(s.options.GroupLimit, s.options.Timeout, s.commit)
	s.durability.flushes = gather.NewGroup(s.options.GroupLimit, s.options.Timeout, s.flush)
	for range lookers {
		s.helpers.Go(func() { s.looks.Work(s.life) })
	}
	for range committers {
		s.helpers.Go(func() { s.commits.Work(s.life) })
	}
	s.helpers.Go(func() { s.durability.flushes.Work(s.life) })
}

// checkSchema refuses a schema that this version cannot work with.
func (s *Store) checkSchema(ctx context.Context) error {
	status := SchemaStatus{}
	err := s.on(ctx, func(c *conn) error { return c.readOne(ctx, s.sql.schemaVersion.with(), &status.Version) })
	if err != nil && number(err) != noTable {
		return fmt.Errorf("open %v: %w", s.dsn, unsent(ctx, err))
	}
	if status.Latest, err = latestSchema(); err != nil {
		return err
	}
	return status.check(s.dsn)
}

// checkServer finds out what the server can do.
func (s *Store) checkServer(ctx context.Context) error {
	err := s.on(ctx, func(c *conn) error {
		return c.query(ctx, s.sql.server.with(), nil, func(_ int, columns []driver.Value) error {
			s.returns = isMariaDB(string(readBytes(columns[0])))
			return nil
		})
	})
	return unsent(ctx, err)
}

// Close implements [store.Store]. It waits for the commands under way. Those that wait for a key which
// somebody holds are given up: they have changed nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		close(s.closing)
	}
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	s.end()
	s.helpers.Wait()
	return s.pool.Close()
}

// enter counts a command as under way, unless the store is closed or the caller's context has ended. The
// caller leaves with running.Done.
func (s *Store) enter(ctx context.Context) error {
	if err := store.NotSent(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Unavailable(errClosed)
	}
	s.running.Add(1)
	return nil
}

// within does something on a connection, of which there is a place among those that are for that.
func (s *Store) within(ctx context.Context, places chan struct{}, work func(*conn) error) error {
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return store.Unavailable(context.Cause(ctx))
	}
	defer func() { <-places }()
	return s.on(ctx, work)
}

// errand does something beside the commands.
func (s *Store) errand(ctx context.Context, work func(*conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	return s.within(ctx, s.errands, work)
}

// saw notes a time of the server. It may come late, but never early.
func (s *Store) saw(at machine.Instant) { raise(&s.seen, at) }

// raise makes an instant the later one.
func raise(known *atomic.Int64, at machine.Instant) {
	for {
		is := known.Load()
		if int64(at) <= is || known.CompareAndSwap(is, int64(at)) {
			return
		}
	}
}
