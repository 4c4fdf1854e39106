//go:build unix

package servicetest_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

func TestAPausedServerAnswersWhenItIsResumed(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	conn := connect(t, server.Database(t))
	server.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a paused server answered: %v", err)
	default:
	}
	server.Resume()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

func TestAPausedServerCanBeKilledAndEnded(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	server.Pause()
	server.Kill()
	server.Restart()
	connect(t, server.DSN("postgres"))
	server.Pause() // the end of the test ends it all the same
}

func TestStopEndsConnectionsAndRestartKeepsTheAddress(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	address, dsn := server.Addr(), server.Database(t)
	conn := connect(t, dsn)
	server.Stop()
	_, err := conn.Exec(t.Context(), "SELECT 1")
	wantCode(t, err, "57P01") // shut down by the administrator
	server.Restart()
	server.Restart() // one that runs is stopped first
	connect(t, dsn)
	if server.Addr() != address {
		t.Errorf("the address was %s and is %s", address, server.Addr())
	}
	if log := server.Log(); strings.Count(log, "ready to accept connections") != 3 {
		t.Errorf("the log does not tell of three starts:\n%s", log)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, MaxConnections: 5})
	var err error
	for n := 0; err == nil && n < 3; n++ { // the one that asked whether the server is ready may still be there
		var conn *pgx.Conn
		if conn, err = pgx.Connect(t.Context(), server.DSN("postgres")); err == nil {
			defer conn.Close(context.Background())
		}
	}
	wantCode(t, err, "53300")           // too many connections
	server.Exec("postgres", "SELECT 1") // the administrator gets in
}

func TestSettingsAreSet(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{
		Unsafe: true, Settings: map[string]string{"default_transaction_read_only": "on"},
	})
	_, err := connect(t, server.DSN("postgres")).Exec(t.Context(), "CREATE TABLE orders (id int)")
	wantCode(t, err, "25006") // read-only
}

func TestTheUserHasNoRightsBeyondItsDatabase(t *testing.T) {
	t.Parallel()
	conn := connect(t, servicetest.Postgres(t).Database(t))
	if os.Getenv("REPRISE_TEST_POSTGRES") != "" {
		t.Skip("the role is that of REPRISE_TEST_POSTGRES")
	}
	_, err := conn.Exec(t.Context(), "CREATE ROLE other")
	wantCode(t, err, "42501")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, TLS: true})
	dsn := server.Database(t)
	var encrypted bool
	conn := connect(t, dsn)
	if err := conn.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted); err != nil || !encrypted {
		t.Errorf("encrypted: %v, %v", encrypted, err)
	}
	_, err := pgx.Connect(t.Context(), withQuery(t, dsn, "sslmode", "disable"))
	wantCode(t, err, "28000") // refused
	if _, err := os.Stat(server.CA()); err != nil {
		t.Error(err)
	}
	other := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, TLS: true})
	if _, err := pgx.Connect(t.Context(), withQuery(t, dsn, "sslrootcert", other.CA())); err == nil {
		t.Error("a certificate of another authority is accepted")
	}
}

func withQuery(t *testing.T, dsn, name, value string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{DiskBytes: 32 << 20})
	conn := connect(t, server.Database(t))
	exec(t, conn, "CREATE TABLE filler (n bigint)")
	server.FillDisk()
	const insert = "INSERT INTO filler SELECT generate_series(1, 10000)"
	_, err := conn.Exec(t.Context(), insert)
	wantCode(t, err, "53100") // disk full
	server.FreeDisk()
	exec(t, conn, insert)
}

func TestPgBouncerSharesServerConnections(t *testing.T) {
	t.Parallel()
	dsn := servicetest.PgBouncer(t, servicetest.Postgres(t).Database(t), servicetest.PoolTransaction)
	dsn = withQuery(t, dsn, "default_query_exec_mode", "simple_protocol")
	var backends [2]int
	for i := range backends {
		if err := connect(t, dsn).QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&backends[i]); err != nil {
			t.Fatal(err)
		}
	}
	if backends[0] != backends[1] {
		t.Errorf("two clients that are idle have server connections of their own: %v", backends)
	}
}

func TestPgBouncerKeepsSessions(t *testing.T) {
	t.Parallel()
	conn := connect(t, servicetest.PgBouncer(t, servicetest.Postgres(t).Database(t), servicetest.PoolSession))
	exec(t, conn, "CREATE TEMPORARY TABLE mine (id int)")
	exec(t, conn, "SELECT * FROM mine")
	if err := conn.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
