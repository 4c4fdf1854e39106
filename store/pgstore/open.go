package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Options are how a database is used. The zero value is right for most uses.
type Options struct {
	// Migrate brings the schema up to date first, as [Migrate] does. That takes a role which may, so a
	// service leaves it to whoever deploys it.
	Migrate bool
	// MaxConns is how many connections the store has at most, apart from one that listens for changes
	// once somebody waits; 0 is what pool_max_conns in the DSN says, or else 16. At least 4.
	MaxConns int
	// GroupLimit is how many commands share a commit at most; 0 is 128. Each takes a lock of the
	// server, which has max_locks_per_transaction × max_connections of them.
	GroupLimit int
	// Timeout is how long the store waits for the server to answer for a group, before it gives the
	// connection up; 0 is 10 s. Callers wait as long as their contexts say. The server waits as long for
	// the store in the middle of a transaction: then it frees the key, because a process whose machine or
	// network is gone cannot.
	Timeout time.Duration
}

func (o Options) withDefaults(configured int32) Options {
	if o.MaxConns <= 0 {
		o.MaxConns = int(configured)
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

// Store is a [store.Store] in a PostgreSQL database. It is also a [store.Lister], [store.Counter],
// [store.Purger], [store.Watcher] and [store.SecretKeeper]. Make one with [Open].
type Store struct {
	address address
	options Options
	sql     *queries
	pool    *pgxpool.Pool

	looks   *gather.Group[look]
	commits *gather.Group[form.Write]
	// steps and errands bound how many connections are used for what does not go through a group, so
	// that groups never wait for one.
	steps   chan struct{}
	errands chan struct{}
	turns   gather.Turns
	memory  gather.Memory
	batches batches
	// replays says that the last claim met a record: the next one looks before it tries to make one.
	replays  atomic.Bool
	writing  atomic.Int64  // commands that were written so far
	tidyAt   atomic.Int64  // the number of them at which it is time to tidy up
	untidy   chan struct{} // has room for the one signal that it is
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
//	postgres://user:password@host:5432/database?schema=reprise
//
// Everything but schema and pgbouncer is as pgx has it, such as sslmode, sslrootcert, connect_timeout,
// target_session_attrs and several hosts. With pgbouncer=1 nothing is left behind in a session, as a
// PgBouncer in transaction mode needs it; who waits for a change of another process then polls. One in
// statement mode is refused.
//
// Open does not prepare the schema unless Options say so. One that is missing, older than this version's
// or newer than the next one is refused with [store.ErrSchema]. The caller closes the store.
func Open(ctx context.Context, dsn string, options Options) (*Store, error) {
	a, err := parseAddress(dsn)
	if err != nil {
		return nil, err
	}
	if options.Migrate {
		if _, err := Migrate(ctx, dsn); err != nil {
			return nil, err
		}
	}
	config, err := a.poolConfig()
	if err != nil {
		return nil, err
	}
	if !a.server.Query().Has("pool_max_conns") {
		config.MaxConns = 16
	}
	s := &Store{address: a, options: options.withDefaults(config.MaxConns), closing: make(chan struct{})}
	if s.sql, err = newQueries(a.schema); err != nil {
		return nil, err
	}
	s.configure(config)
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	err = s.checkBouncer(ctx)
	if err == nil {
		err = s.checkSchema(ctx)
	}
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	s.start()
	return s, nil
}

// configure fits a pool to the store.
func (s *Store) configure(config *pgxpool.Config) {
	config.MaxConns = int32(s.options.MaxConns)
	config.MinConns = min(config.MinConns, config.MaxConns)
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "reprise"
	}
	keep, turnover := config.ConnConfig.OnPgError, &dsn.Turnover{}
	config.ConnConfig.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return keep(conn, err) && !(dsn.Elsewhere(err) && turnover.Due())
	}
	if s.address.bouncer {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		return
	}
	config.ConnConfig.RuntimeParams[idleSetting] = s.idle()
	session := s.sql.session
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, session)
		return err
	}
}

// idleSetting is how long a session may be idle in the middle of a transaction.
const idleSetting = "idle_in_transaction_session_timeout"

// idle is its value.
func (s *Store) idle() string { return strconv.FormatInt(max(1, s.options.Timeout.Milliseconds()), 10) }

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
	s.tidyAt.Store(tidyAfter)
	s.untidy = make(chan struct{}, 1)
	s.helpers.Go(func() { s.tidyAll(s.life) })
	s.looks = gather.NewGroup(s.options.GroupLimit, s.options.Timeout, s.lookUp)
	s.commits = gather.NewGroup(s.options.GroupLimit, s.options.Timeout, s.commit)
	for range lookers {
		s.helpers.Go(func() { s.looks.Work(s.life) })
	}
	for range committers {
		s.helpers.Go(func() { s.commits.Work(s.life) })
	}
}

// checkBouncer refuses a PgBouncer that gives a transaction no session of its own. It says so itself, when one begins.
func (s *Store) checkBouncer(ctx context.Context) error {
	if !s.address.bouncer {
		return nil
	}
	tx, err := s.pool.Begin(ctx)
	if err == nil {
		err = tx.Rollback(ctx)
	}
	if err != nil {
		return fmt.Errorf("open %v: %w", s.address, unsent(ctx, err))
	}
	return nil
}

// checkSchema refuses a schema that this version cannot work with.
func (s *Store) checkSchema(ctx context.Context) error {
	var version *int64
	err := s.pool.QueryRow(ctx, s.sql.schemaVersion).Scan(&version)
	if err != nil && !absent(err) {
		return fmt.Errorf("open %v: %w", s.address, unsent(ctx, err))
	}
	status := SchemaStatus{}
	if version != nil {
		status.Version = *version
	}
	if status.Latest, err = latestSchema(); err != nil {
		return err
	}
	return status.check(s.address)
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
	s.pool.Close()
	return nil
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

// acquire takes a connection, and a place among those that are for what the caller does. The caller calls
// release.
func (s *Store) acquire(ctx context.Context, places chan struct{}) (conn *pgxpool.Conn, release func(), err error) {
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, store.Unavailable(context.Cause(ctx))
	}
	if conn, err = s.pool.Acquire(ctx); err != nil {
		<-places
		return nil, nil, unsent(ctx, err)
	}
	return conn, func() { conn.Release(); <-places }, nil
}
