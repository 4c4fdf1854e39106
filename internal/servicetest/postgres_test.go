//go:build unix

package servicetest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	server := servicetest.Postgres(t)
	for range 2 {
		exec(t, connect(t, server.Database(t)), "CREATE TABLE orders (id int)")
	}
}

func TestADatabaseEndsWithItsTest(t *testing.T) {
	t.Parallel()
	server := servicetest.Postgres(t)
	var dsn string
	t.Run("test", func(t *testing.T) { dsn = server.Database(t); connect(t, dsn) })
	_, err := pgx.Connect(t.Context(), dsn)
	wantCode(t, err, "3D000") // no such database
}

// wantCode checks that PostgreSQL said no in a certain way.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != code {
		t.Fatalf("want an error of code %s, got %v", code, err)
	}
}

func TestWhatWasCommittedSurvivesAKill(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	dsn := server.Database(t)
	conn := connect(t, dsn)
	exec(t, conn, "CREATE TABLE orders (id int)")
	exec(t, conn, "INSERT INTO orders VALUES (1)")

	server.Kill()
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Restart()

	var n int
	if err := connect(t, dsn).QueryRow(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil || n != 1 {
		t.Fatalf("got %d orders and %v, want 1", n, err)
	}
}
