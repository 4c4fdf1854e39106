package faultnet_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// order is a database with a table of orders, reached directly and through a proxy.
type order struct {
	proxy  *faultnet.Proxy
	direct *pgx.Conn
	dsn    string // through the proxy
}

func newOrder(t *testing.T) order {
	t.Helper()
	server := servicetest.Postgres(t)
	proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
	dsn := server.Database(t)
	direct := connect(t, dsn)
	if _, err := direct.Exec(t.Context(), "CREATE TABLE orders (id int PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return order{proxy, direct, proxy.Through(dsn)}
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (o order) count(t *testing.T) (n int) {
	t.Helper()
	if err := o.direct.QueryRow(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// place writes an order in a transaction, and returns what became of its commit.
func (o order) place(t *testing.T, ctx context.Context) error {
	t.Helper()
	tx, err := connect(t, o.dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO orders VALUES ($1)", 1); err != nil {
		t.Fatal(err)
	}
	return tx.Commit(ctx)
}

func TestTheCommitThatIsStruck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		fault     faultnet.Fault
		committed int
	}{
		{"request lost", faultnet.RequestLost(), 0},
		{"request cut", faultnet.RequestCut(), 0},
		{"reply lost", faultnet.ReplyLost(), 1},
		{"reply cut", faultnet.ReplyCut(), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newOrder(t)
			o.proxy.SetPlan(faultnet.First("commit", test.fault))
			if err := o.place(t, t.Context()); err == nil {
				t.Error("the commit was reported as done")
			}
			if n := o.count(t); n != test.committed {
				t.Errorf("committed: %d, want %d", n, test.committed)
			}
			if n := o.proxy.Struck(); n != 1 {
				t.Errorf("%d faults have struck", n)
			}
		})
	}
}

func TestACommitWithoutAReplyHangsUntilItsCallerGivesUp(t *testing.T) {
	t.Parallel()
	o := newOrder(t)
	o.proxy.SetPlan(faultnet.First("commit", faultnet.ReplyLost().Hanging()))
	ctx, cancel := context.WithCancel(t.Context())
	struck := o.proxy.Next(faultnet.Is(faultnet.Struck))
	result := make(chan error, 1)
	go func() { result <- o.place(t, ctx) }()
	<-struck
	if n := o.count(t); n != 1 {
		t.Errorf("committed: %d, want 1", n)
	}
	select {
	case err := <-result:
		t.Fatalf("the caller was told: %v", err)
	default:
	}
	cancel()
	if <-result == nil {
		t.Error("the commit was reported as done")
	}
}

func TestACommitThatArrivesAfterItsCallerGaveUp(t *testing.T) {
	t.Parallel()
	o := newOrder(t)
	release := make(chan struct{})
	o.proxy.SetPlan(faultnet.First("commit", faultnet.HeldUntil(release)))
	ctx, cancel := context.WithCancel(t.Context())
	struck := o.proxy.Next(faultnet.Is(faultnet.Struck))
	result := make(chan error, 1)
	go func() { result <- o.place(t, ctx) }()
	<-struck
	cancel()
	if <-result == nil {
		t.Error("the commit was reported as done")
	}
	if n := o.count(t); n != 0 {
		t.Errorf("committed before it arrived: %d", n)
	}
	close(release)
	// The lock is to be had when the transaction has ended.
	if _, err := o.direct.Exec(t.Context(), "BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; COMMIT"); err != nil {
		t.Fatal(err)
	}
	if n := o.count(t); n != 1 {
		t.Errorf("committed: %d, want 1", n)
	}
}

func TestEachStatementIsOneRequest(t *testing.T) {
	t.Parallel()
	o := newOrder(t)
	conn := connect(t, o.dsn)
	if n := o.proxy.Requests(); n != 0 {
		t.Errorf("logging in took %d requests, want 0", n)
	}
	for _, step := range []struct {
		name     string
		do       func() error
		requests int
	}{
		{"simple", func() error { _, err := conn.Exec(t.Context(), "SELECT 1"); return err }, 1},
		{"prepared and executed", func() error { return conn.QueryRow(t.Context(), "SELECT $1::int", 7).Scan(new(int)) }, 2},
		{"executed", func() error { return conn.QueryRow(t.Context(), "SELECT $1::int", 7).Scan(new(int)) }, 1},
		{"copied, after a statement that describes the table", func() error {
			rows := pgx.CopyFromSlice(1000, func(i int) ([]any, error) { return []any{i}, nil })
			_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"orders"}, []string{"id"}, rows)
			return err
		}, 2},
		{"many rows", func() error {
			_, err := conn.Exec(t.Context(), "SELECT * FROM orders, generate_series(1, 100)")
			return err
		}, 1},
	} {
		o.proxy.SetPlan(faultnet.None)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := o.proxy.Requests(); n != step.requests {
			t.Errorf("%s: %d requests, want %d", step.name, n, step.requests)
		}
	}
}

func TestNotificationsPassWithoutARequest(t *testing.T) {
	t.Parallel()
	o := newOrder(t)
	conn := connect(t, o.dsn)
	if _, err := conn.Exec(t.Context(), "LISTEN placed"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.direct.Exec(t.Context(), "NOTIFY placed, 'one'"); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.WaitForNotification(t.Context()); err != nil || n.Payload != "one" {
		t.Errorf("got %v and %v", n, err)
	}
}

func TestAConnectionThatIsCutIsOfUseNoMore(t *testing.T) {
	t.Parallel()
	o := newOrder(t)
	conn := connect(t, o.dsn)
	o.proxy.CutAll()
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection that was cut carries a statement")
	}
	connect(t, o.dsn)
}

func TestEncryptedConnectionsPass(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, TLS: true})
	proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
	conn := connect(t, proxy.Through(server.DSN("postgres")))
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Error(err)
	}
	if n := proxy.Requests(); n != 0 {
		t.Errorf("%d requests were told apart in what is encrypted", n)
	}
}
