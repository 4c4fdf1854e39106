//go:build unix

package servicetest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Database makes an empty database and returns its DSN, mysql://…. It is dropped when the test ends. Its
// default order of text is the loosest there is: a table that wants bytes has to say so.
func (s *MariaDBServer) Database(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	create := "CREATE DATABASE " + name + " CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
	if s.external == nil {
		create += "; GRANT ALL PRIVILEGES ON " + name + ".* TO " + mariadbUser + "@'%'"
	}
	if err := s.execute(ctx, s.home(), create); err != nil {
		t.Fatalf("servicetest: create a database: %v", err)
	}
	if s.shared {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := s.execute(ctx, s.home(), "DROP DATABASE "+name); err != nil {
				t.Errorf("servicetest: drop the database: %v", err)
			}
		})
	}
	return s.DSN(name)
}

// Addr is where the server listens: host:port.
func (s *MariaDBServer) Addr() string { return s.address() }

// CA is the path of the certificate that a TLS client verifies the server with; empty without TLS.
func (s *MariaDBServer) CA() string { return s.ca }

// DSN returns the DSN of a database, for a user that has all rights in it and no others.
func (s *MariaDBServer) DSN(database string) string { return s.dsn(mariadbUser, database) }

// AdminDSN returns the DSN of a database for a user that has all rights.
func (s *MariaDBServer) AdminDSN(database string) string { return s.dsn(mariadbAdmin, database) }

// Exec executes statements in a database with all rights. The database "mysql" is always there.
func (s *MariaDBServer) Exec(database, sql string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.check("execute "+sql, s.execute(ctx, database, sql))
}

// home is a database that is always there.
func (m *mariadb) home() string { return "mysql" }

func (m *mariadb) dsn(user, database string) string {
	if m.external != nil {
		there := *m.external
		there.Path = "/" + database
		return there.String()
	}
	query := url.Values{"tls": {"false"}}
	if m.options.TLS {
		query = url.Values{"tls": {"true"}, "ca": {m.ca}}
	}
	u := url.URL{
		Scheme: "mysql", User: url.UserPassword(user, m.password), Host: m.address(),
		Path: "/" + database, RawQuery: query.Encode(),
	}
	return u.String()
}

func (m *mariadb) execute(ctx context.Context, database, statements string) error {
	return m.asAdmin(ctx, database, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, statements)
		return err
	})
}

// asAdmin runs work with a connection of the administrator.
func (m *mariadb) asAdmin(ctx context.Context, database string, work func(*sql.DB) error) error {
	config, err := m.config(database)
	if err != nil {
		return err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(1)
	err = db.PingContext(ctx)
	if crowded(err) {
		err = await("a place for the administrator", func() error { return db.PingContext(ctx) })
	}
	if err == nil {
		err = work(db)
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", database, err)
	}
	return nil
}

// config is how the administrator connects.
func (m *mariadb) config(database string) (*mysql.Config, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", m.address(), database
	config.User, config.Passwd = mariadbAdmin, m.password
	config.MultiStatements = true
	config.Logger = &mysql.NopLogger{}
	if m.external != nil {
		config.User = m.external.User.Username()
		config.Passwd, _ = m.external.User.Password()
	}
	if m.ca != "" {
		authority, err := os.ReadFile(m.ca)
		if err != nil {
			return nil, err
		}
		config.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
		config.TLS.RootCAs.AppendCertsFromPEM(authority)
	}
	return config, nil
}

// crowded reports whether there were too many connections. The administrator has a place of its own, but
// whoever is just being refused takes it for a moment.
func crowded(err error) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && said.Number == 1040
}
