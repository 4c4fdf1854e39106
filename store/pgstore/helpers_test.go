package pgstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// database is one of its own, or a schema of its own in one, with a clock that can be moved.
type database struct {
	testing.TB
	dsn     string // of a role that owns it
	service string // of a role that has the rights of the service and no others; empty if there is none
	schema  string
	conn    *pgx.Conn
	mu      sync.Mutex // guards conn
}

// movableClock replaces the store's clock by one that is ahead of the server's.
const movableClock = `
CREATE TABLE reprise.test_clock (ahead bigint NOT NULL);
INSERT INTO reprise.test_clock VALUES (0);
CREATE OR REPLACE FUNCTION reprise.reprise_clock(at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE
AS 'SELECT at + ahead * interval ''1 microsecond'' FROM reprise.test_clock'`

// newDatabase makes a database with the store's schema.
func newDatabase(t testing.TB) *database {
	t.Helper()
	return prepare(t, servicetest.Postgres(t).Database(t), DefaultSchema)
}

// prepare makes the store's schema in a database.
func prepare(t testing.TB, dsn, schema string) *database {
	t.Helper()
	d := &database{TB: t, dsn: with(t, dsn, "schema", schema), schema: schema}
	if _, err := Migrate(t.Context(), d.dsn); err != nil {
		t.Fatal(err)
	}
	d.exec(inSchema(movableClock, schema))
	return d
}

// newServiceDatabases returns a function that makes one schema after the other in one database, which is
// faster than making databases.
func newServiceDatabases(t *testing.T) func(t *testing.T) *database {
	server := servicetest.Postgres(t)
	dsn := server.Database(t)
	role := "service_" + strings.ToLower(rand.Text())
	server.Exec("postgres", "CREATE ROLE "+role+" LOGIN PASSWORD 'service'")
	t.Cleanup(func() { server.Exec(databaseOf(t, dsn), "DROP OWNED BY "+role+"; DROP ROLE "+role) })
	var made atomic.Int64
	return func(t *testing.T) *database {
		t.Helper()
		d := prepare(t, dsn, fmt.Sprintf("reprise_%d", made.Add(1)))
		d.exec("GRANT SELECT ON " + d.schema + ".test_clock TO " + role)
		script, err := Print(d.schema, role)
		if err != nil {
			t.Fatal(err)
		}
		_, grants, _ := strings.Cut(script, "GRANT")
		d.exec("GRANT" + grants)
		u, err := url.Parse(d.dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(role, "service")
		d.service = u.String()
		return d
	}
}

// with returns a DSN with a parameter more.
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
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// connect returns a connection that is closed at the end of the test.
func (d *database) connect() *pgx.Conn {
	d.Helper()
	a, err := parseAddress(d.dsn)
	if err != nil {
		d.Fatal(err)
	}
	conn, err := pgx.Connect(d.Context(), a.server.String())
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { conn.Close(context.WithoutCancel(d.Context())) })
	return conn
}

func (d *database) exec(sql string, args ...any) {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		d.conn = d.connect()
	}
	if _, err := d.conn.Exec(d.Context(), sql, args...); err != nil {
		d.Fatal(err)
	}
}

func (d *database) advance(by time.Duration) {
	d.Helper()
	d.exec("UPDATE "+d.schema+".test_clock SET ahead = ahead + $1", by.Microseconds())
}

// open opens a store that is closed at the end of the test.
func (d *database) open(options Options) *Store {
	d.Helper()
	if options.MaxConns == 0 {
		options.MaxConns = 6
	}
	s, err := Open(d.Context(), d.dsn, options)
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
