package pgstore

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

// Through a PgBouncer in transaction mode, two statements of one client may run in two sessions of the
// server. The store leaves nothing in them.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	direct := servicetest.Postgres(t).Database(t)
	dsn := with(t, servicetest.PgBouncer(t, direct, servicetest.PoolTransaction), "pgbouncer", "1")
	if status, err := Migrate(t.Context(), dsn); err != nil || status.Pending() {
		t.Fatalf("%+v, %v", status, err)
	}
	d := &database{TB: t, dsn: direct, schema: DefaultSchema}
	d.exec(movableClock)
	storetest.RandomHistory(t, storetest.Harness{
		Open:    func() (store.Store, error) { return Open(t.Context(), dsn, Options{MaxConns: 6}) },
		Advance: d.advance,
	}, storetest.History{Seed: 3, Steps: 400})

	s, err := Open(t.Context(), dsn, Options{MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	answer(t, s, 50)
	page, err := s.List(t.Context(), store.Filter{States: []machine.State{machine.Completed}}, "", 1000)
	if err != nil || len(page.Records) < 50 {
		t.Errorf("listed %d: %v", len(page.Records), err)
	}
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	changed, stop := s.Watch(begin.Scope, 1)
	defer stop()
	want(t, s, machine.CompletedNow, completion(begin, nil))
	<-changed // by this process

	// Effects use their caller's pool, which has to fit too.
	a, err := parseAddress(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(with(t, a.server.String(), "default_query_exec_mode", "cache_describe"))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	d.exec(ordersTable)
	shop := &shop{d, pool}
	key := newBegin()
	for i := range 20 {
		effect, err := shop.order(anotherCaller(key))
		if err != nil || effect.Replayed != (i > 0) {
			t.Fatalf("%+v, %v", effect, err)
		}
	}
	if n := shop.orders(key); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// A PgBouncer in statement mode has no transactions: it is refused at once, and not when the first key is settled.
func TestBehindPgBouncerInStatementMode(t *testing.T) {
	t.Parallel()
	const says = "pool_mode = transaction"
	empty := with(t, servicetest.PgBouncer(t, servicetest.Postgres(t).Database(t), servicetest.PoolStatement), "pgbouncer", "1")
	if _, err := Migrate(t.Context(), empty); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("migrate: %v", err)
	}
	direct := servicetest.Postgres(t).Database(t)
	if _, err := Migrate(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	dsn := with(t, servicetest.PgBouncer(t, direct, servicetest.PoolStatement), "pgbouncer", "1")
	s, err := Open(t.Context(), dsn, Options{})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("open: %v", err)
	}
}

// Sessions of the server are ended behind a PgBouncer, which tells its clients so in its own way. Each
// caller gets the truth about its own command.
func TestSessionsThatEndBehindPgBouncer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	dsn := server.Database(t)
	d := prepare(t, dsn, DefaultSchema)
	s, err := Open(t.Context(), with(t, servicetest.PgBouncer(t, dsn, servicetest.PoolTransaction), "pgbouncer", "1"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			for i := range 25 {
				begin := newBegin()
				truth(t, s, begin, machine.Acquired)
				if i%5 == caller%5 {
					server.Exec(databaseOf(t, d.dsn), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reprise'")
				}
				truth(t, s, completion(begin, []byte("answer")), machine.CompletedNow)
				truth(t, s, anotherCaller(begin), machine.Replay)
			}
		})
	}
	group.Wait()
}
