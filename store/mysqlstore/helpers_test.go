package mysqlstore

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// database is one of its own, with a clock that can be moved.
type database struct {
	testing.TB
	dsn     string // of a user who has all rights in it
	service string // of a user who has the rights of the service and no others; empty if there is none
	db      *sql.DB
}

// movable is a clock that is ahead of the server's.
var movable = clock{
	now:   "(" + serverClock.now + " + (SELECT ahead FROM test_clock))",
	start: "(" + serverClock.start + " + (SELECT ahead FROM test_clock))",
}

// newDatabase makes a database with the store's tables.
func newDatabase(t testing.TB) *database {
	t.Helper()
	return prepare(t, servicetest.MariaDB(t).Database(t))
}

// prepare makes the store's tables in a database.
func prepare(t testing.TB, dsn string) *database {
	t.Helper()
	d := &database{TB: t, dsn: dsn}
	if _, err := Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	d.db = d.connect()
	d.exec("CREATE TABLE test_clock (ahead BIGINT NOT NULL) ENGINE = InnoDB")
	d.exec("INSERT INTO test_clock VALUES (0)")
	return d
}

// newServiceDatabases returns a function that makes one database after the other, in which a user has the
// rights of the service.
func newServiceDatabases(t *testing.T) func(t *testing.T) *database {
	server := servicetest.MariaDB(t)
	user := "service_" + strings.ToLower(rand.Text())[:16]
	server.Exec("mysql", "CREATE USER "+user+" IDENTIFIED BY 'service'")
	t.Cleanup(func() { server.Exec("mysql", "DROP USER "+user) })
	return func(t *testing.T) *database {
		t.Helper()
		d := newDatabase(t)
		script, err := Print(user)
		if err != nil {
			t.Fatal(err)
		}
		_, grants, _ := strings.Cut(script, "GRANT")
		server.Exec(databaseOf(t, d.dsn), "GRANT SELECT ON test_clock TO "+user+"; GRANT"+grants)
		u, err := url.Parse(d.dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, "service")
		d.service = u.String()
		return d
	}
}

// with returns a DSN with another value of a parameter.
func with(t testing.TB, dsn, name, value string) string {
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

// without returns a DSN with a parameter less.
func without(t testing.TB, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Del(name)
	u.RawQuery = query.Encode()
	return u.String()
}

func databaseOf(t testing.TB, dsn string) string {
	t.Helper()
	d, err := ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return d.Database()
}

// openDB returns a pool as an application would have it, with a session that is as the server's defaults are.
func openDB(dsn string) (*sql.DB, error) {
	d, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config, err := d.config()
	if err != nil {
		return nil, err
	}
	config.MultiStatements = false
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// connect returns a pool that is closed at the end of the test.
func (d *database) connect() *sql.DB {
	d.Helper()
	db, err := openDB(d.dsn)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { db.Close() })
	return db
}

func (d *database) exec(statement string, args ...any) {
	d.Helper()
	if _, err := d.db.ExecContext(d.Context(), statement, args...); err != nil {
		d.Fatalf("%s: %v", statement, err)
	}
}

func (d *database) advance(by time.Duration) {
	d.Helper()
	d.exec(fmt.Sprintf("UPDATE test_clock SET ahead = ahead + %d", by.Microseconds()))
}

// hold returns a transaction that holds a key which has no record.
func (d *database) hold(digest machine.Digest) *sql.Tx {
	d.Helper()
	tx, err := d.connect().BeginTx(d.Context(), nil)
	if err != nil {
		d.Fatal(err)
	}
	if _, err := tx.ExecContext(d.Context(), "INSERT INTO reprise_record (made_at, digest, claimed_at, forget_at, record) VALUES (0, ?, 0, 0, '')", digest[:]); err != nil {
		d.Fatal(err)
	}
	return tx
}

// open opens a store that is closed at the end of the test.
func (d *database) open(options Options) *Store {
	d.Helper()
	if options.MaxConns == 0 {
		options.MaxConns = 6
	}
	s, err := open(d.Context(), d.dsn, options, movable)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.Errorf("close: %v", err)
		}
	})
	return s
}

// apply runs a command that must not fail.
func apply(t testing.TB, s *Store, command machine.Command) machine.Reply {
	t.Helper()
	reply, err := s.Apply(t.Context(), command)
	if err != nil {
		t.Fatalf("%v: %v", command.Kind(), err)
	}
	return reply
}

// want runs a command that must have an outcome.
func want(t testing.TB, s *Store, outcome machine.Outcome, command machine.Command) machine.Reply {
	t.Helper()
	reply := apply(t, s, command)
	if reply.Outcome != outcome {
		t.Fatalf("%v: outcome %v (%s), want %v", command.Kind(), reply.Outcome, reply.Reason, outcome)
	}
	return reply
}

// newBegin returns a begin on a fresh key.
func newBegin() machine.Begin {
	begin := machine.Begin{Claim: machine.Claim{
		Scope:        machine.Scope{Operation: "POST /orders", SecretVersion: 1},
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{1}}},
		Lease:        30 * time.Second, Policy: 1, Codecs: []string{"http/1"},
	}}
	// crypto/rand never fails.
	rand.Read(begin.Scope.Digest[:])
	rand.Read(begin.Owner[:])
	rand.Read(begin.Operation[:])
	rand.Read(begin.Nonce[:])
	return begin
}

// anotherCaller returns a begin for the same request from somebody else.
func anotherCaller(b machine.Begin) machine.Begin {
	other := newBegin()
	other.Scope, other.Fingerprints = b.Scope, b.Fingerprints
	return other
}

// completion returns the completion of a begin that acquired its key.
func completion(b machine.Begin, answer []byte) machine.Complete {
	return machine.Complete{
		Hold: machine.Hold{
			Scope: b.Scope, Owner: b.Owner, Attempt: 1, Revision: 1, Operation: b.Operation, Nonce: b.Nonce,
		},
		Response: machine.NewResponse("http/1", answer), Window: time.Hour, Remember: 24 * time.Hour,
	}
}
