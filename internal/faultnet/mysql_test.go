package faultnet_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// openMySQL opens a pool of one connection.
func openMySQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.MultiStatements, config.Logger = true, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// newMySQLOrder returns a database with a table of orders, reached directly and through a proxy.
func newMySQLOrder(t *testing.T) (proxy *faultnet.Proxy, direct, through *sql.DB) {
	t.Helper()
	server := servicetest.MariaDB(t)
	dsn := server.Database(t)
	proxy = faultnet.New(t, server.Addr(), faultnet.MySQL())
	direct, through = openMySQL(t, dsn), openMySQL(t, proxy.Through(dsn))
	if _, err := direct.ExecContext(t.Context(), "CREATE TABLE orders (id int PRIMARY KEY, what longtext) ENGINE = InnoDB"); err != nil {
		t.Fatal(err)
	}
	return proxy, direct, through
}

func TestTheMySQLCommitThatIsStruck(t *testing.T) {
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
			proxy, direct, through := newMySQLOrder(t)
			tx, err := through.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO orders VALUES (?, 'x')", 1); err != nil {
				t.Fatal(err)
			}
			proxy.SetPlan(faultnet.First("COMMIT", test.fault))
			if err := tx.Commit(); err == nil {
				t.Error("the commit was reported as done")
			}
			if n := count(t, direct); n != test.committed {
				t.Errorf("committed: %d, want %d", n, test.committed)
			}
			if n := proxy.Struck(); n != 1 {
				t.Errorf("%d faults have struck", n)
			}
		})
	}
}

// Each command is one request, whatever it is answered with.
func TestMySQLCommandsAreCounted(t *testing.T) {
	t.Parallel()
	proxy, _, db := newMySQLOrder(t)
	if _, err := db.ExecContext(t.Context(), "SET GLOBAL max_allowed_packet = 1"); err == nil {
		t.Error("the user may do that")
	}
	for _, step := range []struct {
		requests int
		run      func() error
	}{
		{1, func() error { return db.PingContext(t.Context()) }},
		{1, func() error {
			_, err := db.ExecContext(t.Context(), "INSERT INTO orders VALUES (1, 'a'); INSERT INTO orders VALUES (2, 'b')")
			return err
		}},
		{1, func() error {
			return read(db.QueryContext(t.Context(), "SELECT * FROM orders; SELECT 1; DO 1; SELECT 1 FROM orders WHERE id = 5"))
		}},
		{1, func() error { return read(db.QueryContext(t.Context(), "SELECT id, repeat('x', 70000) FROM orders")) }},
		{2, func() error { return read(db.QueryContext(t.Context(), "SELECT * FROM orders WHERE id > ?", 0)) }}, // prepared and executed
		{1, func() error {
			return read(db.QueryContext(t.Context(), "SELECT repeat('x', "+strings.Repeat("1", 6)+")"))
		}},
		{1, func() error { _, err := db.ExecContext(t.Context(), "nonsense"); return ignore(err) }},
		{1, func() error { _, err := db.ExecContext(t.Context(), "DO 1; nonsense; DO 1"); return ignore(err) }},
		{1, func() error { return db.PingContext(t.Context()) }},
	} {
		before := proxy.Requests()
		if err := step.run(); err != nil {
			t.Error(err)
		}
		if n := proxy.Requests() - before; n != step.requests {
			t.Errorf("%d requests, want %d", n, step.requests)
		}
	}
}

// read reads all results.
func read(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
		}
	}
	return rows.Err()
}

// ignore returns nil for an error of the server.
func ignore(err error) error {
	if _, ok := err.(*mysql.MySQLError); ok {
		return nil
	}
	return err
}
