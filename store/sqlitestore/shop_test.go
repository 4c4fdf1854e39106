package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// shop is a program that keeps its orders and its records in one file.
type shop struct {
	testing.TB
	path  string
	clock *clock
	store *Store
	db    *sql.DB
}

func newShop(t testing.TB) *shop {
	t.Helper()
	s := &shop{TB: t, path: filepath.Join(t.TempDir(), "shop.db"), clock: newClock()}
	s.store = s.open(Options{})
	s.db = s.pool()
	s.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, key TEXT NOT NULL)")
	return s
}

// open opens a store in the file.
func (s *shop) open(options Options) *Store {
	s.Helper()
	options.Clock = s.clock.now
	return open(s, s.path, options)
}

// pool opens the file as the program does. Options are those of the driver's DSN.
func (s *shop) pool(options ...string) *sql.DB {
	s.Helper()
	name := "file:" + filepath.ToSlash(s.path) + "?_pragma=synchronous(FULL)"
	for _, option := range options {
		name += "&" + option
	}
	return s.keep(sql.Open("sqlite", name))
}

// keep closes a pool at the end of the test.
func (s *shop) keep(db *sql.DB, err error) *sql.DB {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { db.Close() })
	return db
}

func (s *shop) exec(statement string, args ...any) {
	s.Helper()
	if _, err := s.db.ExecContext(s.Context(), statement, args...); err != nil {
		s.Fatal(err)
	}
}

// effects have time, however slow the machine is.
func (s *shop) effects() Effects {
	return Effects{Store: s.store, BusyTimeout: time.Minute, Limit: time.Minute}
}

// placing is an action that places an order.
func placing(b machine.Begin) func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
	return func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (key) VALUES (?)", b.Scope.Digest.String())
		return machine.NewResponse("http/1", []byte("ordered "+b.Scope.Digest.String())), err
	}
}

// order places one order under a key.
func (s *shop) order(b machine.Begin) (store.Effect, error) {
	return s.effects().Do(s.Context(), s.db, invocation(b), placing(b))
}

// orders counts those of a key.
func (s *shop) orders(b machine.Begin) (n int) {
	s.Helper()
	if err := s.db.QueryRowContext(s.Context(), "SELECT count(*) FROM orders WHERE key = ?", b.Scope.Digest.String()).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// invocation returns what a guard would prepare for a begin.
func invocation(b machine.Begin) *store.Invocation {
	return &store.Invocation{
		Candidates: []store.Candidate{{Scope: b.Scope}}, Owner: b.Owner, Operation: b.Operation, Nonce: b.Nonce,
		Fingerprints: b.Fingerprints, Codecs: b.Codecs, Policy: b.Policy, Lease: b.Lease,
		Window: time.Hour, Remember: 24 * time.Hour, Retryable: time.Hour,
	}
}

// refused returns the refusal that an error must be.
func refused(t testing.TB, err error, want machine.Outcome) *store.Refusal {
	t.Helper()
	var refusal *store.Refusal
	if !errors.As(err, &refusal) || refusal.Reply.Outcome != want || errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("%v, want a refusal as %v", err, want)
	}
	return refusal
}

// joining is placing in a transaction that the program has begun.
func joining(tx *sql.Tx, b machine.Begin) func(ctx context.Context) (machine.Response, error) {
	return func(ctx context.Context) (machine.Response, error) { return placing(b)(ctx, tx) }
}
