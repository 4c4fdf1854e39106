//go:build unix

package servicetest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// openMySQL opens a pool of one connection with a DSN of a server.
func openMySQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Logger = &mysql.NopLogger{}
	if ca := u.Query().Get("ca"); ca != "" && u.Query().Get("tls") == "true" {
		authority, err := os.ReadFile(ca)
		if err != nil {
			t.Fatal(err)
		}
		config.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
		config.TLS.RootCAs.AppendCertsFromPEM(authority)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func execMySQL(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// wantNumber checks that MariaDB said no in a certain way.
func wantNumber(t *testing.T, err error, numbers ...uint16) {
	t.Helper()
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		for _, number := range numbers {
			if said.Number == number {
				return
			}
		}
	}
	t.Fatalf("want an error of number %v, got %v", numbers, err)
}

func TestEachTestHasAMariaDBDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	server := servicetest.MariaDB(t)
	for range 2 {
		execMySQL(t, openMySQL(t, server.Database(t)), "CREATE TABLE orders (id int)")
	}
	var dsn string
	t.Run("test", func(t *testing.T) { dsn = server.Database(t); execMySQL(t, openMySQL(t, dsn), "DO 1") })
	err := openMySQL(t, dsn).PingContext(t.Context())
	wantNumber(t, err, 1049) // no such database
}

func TestWhatMariaDBCommittedSurvivesAKill(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	dsn, address := server.Database(t), server.Addr()
	db := openMySQL(t, dsn)
	execMySQL(t, db, "CREATE TABLE orders (id int) ENGINE = InnoDB")
	execMySQL(t, db, "INSERT INTO orders VALUES (1)")

	server.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Restart()
	server.Restart() // one that runs is stopped first

	var n int
	if err := openMySQL(t, dsn).QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil || n != 1 {
		t.Fatalf("got %d orders and %v, want 1", n, err)
	}
	if server.Addr() != address {
		t.Errorf("the address was %s and is %s", address, server.Addr())
	}
	if log := server.Log(); strings.Count(log, "ready for connections") < 3 {
		t.Errorf("the log does not tell of three starts:\n%s", log)
	}
}

func TestAPausedMariaDBAnswersWhenItIsResumed(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	db := openMySQL(t, server.Database(t))
	execMySQL(t, db, "DO 1")
	server.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(context.Background(), "DO 1")
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
	server.Pause()
	server.Kill()
	server.Restart()
	server.Pause() // the end of the test ends it all the same
}

func TestMariaDBSettingsAndConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{
		Unsafe: true, MaxConnections: 10, Settings: map[string]string{"read-only": "ON"},
	})
	dsn := server.Database(t)
	_, err := openMySQL(t, dsn).ExecContext(t.Context(), "CREATE TABLE orders (id int)")
	wantNumber(t, err, 1290) // read-only
	err = nil
	for n := 0; err == nil && n < 10; n++ {
		err = openMySQL(t, dsn).PingContext(t.Context())
	}
	wantNumber(t, err, 1040)     // too many connections
	server.Exec("mysql", "DO 1") // the administrator gets in
}

func TestTheUserHasNoRightsBeyondItsMariaDBDatabase(t *testing.T) {
	t.Parallel()
	db := openMySQL(t, servicetest.MariaDB(t).Database(t))
	if os.Getenv("REPRISE_TEST_MYSQL") != "" {
		t.Skip("the user is that of REPRISE_TEST_MYSQL")
	}
	_, err := db.ExecContext(t.Context(), "CREATE USER other")
	wantNumber(t, err, 1227)
}

func TestMariaDBWithTLS(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, TLS: true})
	dsn := server.Database(t)
	var name, cipher string
	err := openMySQL(t, dsn).QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher)
	if err != nil || cipher == "" {
		t.Errorf("encrypted with %q: %v", cipher, err)
	}
	err = openMySQL(t, withQuery(t, dsn, "tls", "false")).PingContext(t.Context())
	wantNumber(t, err, 3159, 1045, 4031, 1396, 3024) // refused
}

func TestAFullDiskOfMariaDB(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{DiskBytes: 64 << 20})
	db := openMySQL(t, server.Database(t))
	execMySQL(t, db, "CREATE TABLE filler (n int PRIMARY KEY, b varbinary(1000)) ENGINE = InnoDB")
	server.FillDisk()
	const insert = "INSERT INTO filler SELECT (SELECT coalesce(max(n), 0) FROM filler AS f) + seq, repeat('x', 1000) FROM seq_1_to_1000"
	var err error
	for n := 0; err == nil && n < 100; n++ {
		_, err = db.ExecContext(t.Context(), insert)
	}
	wantNumber(t, err, 1114, 1021, 1026) // the table or the disk is full
	server.FreeDisk()
	execMySQL(t, db, insert)
}
