//go:build unix

package servicetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Database makes an empty database and returns its DSN, postgres://…. It is dropped when the test ends,
// with the connections that are still open.
func (s *PostgresServer) Database(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	owner := ""
	if s.external == nil {
		owner = " OWNER " + postgresUser
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.execute(ctx, s.home(), "CREATE DATABASE "+name+owner); err != nil {
		t.Fatalf("servicetest: create a database: %v", err)
	}
	if s.shared {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := s.execute(ctx, s.home(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
				t.Errorf("servicetest: drop the database: %v", err)
			}
		})
	}
	return s.DSN(name)
}

// Addr is where the server listens: host:port.
func (s *PostgresServer) Addr() string { return s.address() }

// CA is the path of the certificate that a TLS client verifies the server with; empty without TLS.
func (s *PostgresServer) CA() string { return s.ca }

// DSN returns the DSN of a database, for a role that owns databases and has no other rights.
func (s *PostgresServer) DSN(database string) string { return s.dsn(postgresUser, database) }

// AdminDSN returns the DSN of a database for a superuser.
func (s *PostgresServer) AdminDSN(database string) string { return s.dsn(postgresAdmin, database) }

// Exec executes statements in a database as a superuser. The database "postgres" is always there.
func (s *PostgresServer) Exec(database, sql string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.check("execute "+sql, s.execute(ctx, database, sql))
}

// home is a database that is always there.
func (p *postgres) home() string {
	if p.external != nil {
		return strings.TrimPrefix(p.external.Path, "/")
	}
	return "postgres"
}

func (p *postgres) dsn(role, database string) string {
	if p.external != nil {
		there := *p.external
		there.Path = "/" + database
		return there.String()
	}
	query := url.Values{"sslmode": {"disable"}}
	if p.options.TLS {
		query = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {p.ca}}
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, p.password), Host: p.address(),
		Path: "/" + database, RawQuery: query.Encode(),
	}
	return u.String()
}

func (p *postgres) execute(ctx context.Context, database, sql string) error {
	return p.asAdmin(ctx, database, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// asAdmin runs work with a connection of the superuser.
func (p *postgres) asAdmin(ctx context.Context, database string, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, p.dsn(postgresAdmin, database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := work(conn); err != nil {
		return fmt.Errorf("database %s: %w", database, err)
	}
	return nil
}
