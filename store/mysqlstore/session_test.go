package mysqlstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/storetest"
)

// strange is what an administrator may have set for a whole server, for other programs. By each of these alone a store that relies on the
// usual value would take something for committed that is not, miss records that are there, or make two of one key.
const strange = "SET GLOBAL autocommit = 0, completion_type = 'CHAIN', sql_select_limit = 1, unique_checks = 0, sql_safe_updates = 1, sql_big_selects = 0, max_join_size = 1, " +
	"sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES', time_zone = '+05:30', innodb_lock_wait_timeout = 50; SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE"

func TestWhateverIsSetForTheServer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	d := prepare(t, server.Database(t))
	empty := server.Database(t)
	server.Exec("mysql", strange)

	storetest.RandomHistory(t, storetest.Harness{
		Open: func() (store.Store, error) { return open(t.Context(), d.dsn, Options{MaxConns: 4}, movable) },
		Advance: func(by time.Duration) {
			server.Exec(databaseOf(t, d.dsn), fmt.Sprintf("SET autocommit = 1; UPDATE test_clock SET ahead = ahead + %d WHERE ahead >= 0 LIMIT 1", by.Microseconds()))
		},
	}, storetest.History{Seed: 3, Steps: 200})

	s := d.open(Options{MaxConns: 4})
	begins := answer(t, s, 5)
	page, err := s.List(t.Context(), store.Filter{States: []machine.State{machine.Completed}, Operation: begins[0].Scope.Operation}, "", 100)
	if err != nil || len(page.Records) != len(begins) {
		t.Errorf("listed %d of %d: %v", len(page.Records), len(begins), err)
	}
	want(t, s, machine.Acquired, newBegin())
	if page, err = s.List(t.Context(), store.Filter{States: []machine.State{machine.Executing}, Operation: begins[0].Scope.Operation}, "", 100); err != nil || len(page.Records) != 1 {
		t.Errorf("listed %d that are executing: %v", len(page.Records), err)
	}
	for version := range uint32(3) {
		if err := s.AddSecret(t.Context(), store.Secret{Version: version + 1, Check: machine.Digest{byte(version)}}, store.CopiedSecret); err != nil {
			t.Error(err)
		}
	}
	if known, _, err := d.open(Options{MaxConns: 4}).Secrets(t.Context()); err != nil || len(known) != 3 {
		t.Errorf("%d of 3 secrets: %v", len(known), err)
	}

	for range 2 { // what the first has done is there for the second
		if status, err := Migrate(t.Context(), empty); err != nil || status.Pending() {
			t.Errorf("%+v, %v", status, err)
		}
	}
	if status, err := Status(t.Context(), empty); err != nil || status.Pending() {
		t.Errorf("%+v, %v", status, err)
	}
}

// Because a connection that was made before a failover leads to a server that reads only for as long as it lives: it is given up, and the
// next one finds the server that writes.
func TestAConnectionToAServerThatReadsOnly(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{MaxConns: 4})
	want(t, s, machine.NotFound, machine.Inspect{Scope: newBegin().Scope})
	if err := s.on(t.Context(), func(c *conn) error { _, err := c.exec(t.Context(), "SET SESSION TRANSACTION READ ONLY"); return err }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), newBegin()); !errors.Is(err, store.ErrUnavailable) || number(err) != 1792 {
		t.Errorf("a server that reads only: %v", err)
	}
	want(t, s, machine.Acquired, newBegin())
}

// Because a server that has taken the place of another behind an address does not know what was prepared there: the connection is given up,
// and with it the statements.
func TestAStatementThatTheServerHasLost(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy := faultnet.New(t, servicetest.MariaDB(t).Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{MaxConns: 4}, movable)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	inspect := machine.Inspect{Scope: begin.Scope}
	want(t, s, machine.Found, inspect) // prepares it
	forgotten := map[int]bool{}
	proxy.SetPlan(func(r faultnet.Request) faultnet.Fault {
		const command, execute = 4, 0x17
		if r.Bytes[command] == execute && (len(forgotten) == 0 || forgotten[r.Conn]) {
			forgotten[r.Conn] = true
			copy(r.Bytes[command+1:], "lost") // the statement's number
		}
		return faultnet.Fault{}
	})
	if _, err := s.Apply(t.Context(), inspect); err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a statement that is lost: %v", err)
	}
	want(t, s, machine.Found, inspect)
	if len(forgotten) != 1 {
		t.Error("no statement was lost")
	}
}

// Because what is not committed may never be: a look at it that fails leaves nobody behind who sees it.
func TestALookAtWhatIsNotCommittedThatFails(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for name, look := range map[string]func(s *Store, digest machine.Digest) error{
		"under way": func(s *Store, digest machine.Digest) error {
			_, _, err := s.underWay(t.Context(), digest)
			return err
		},
		"obstacles": func(s *Store, digest machine.Digest) error {
			_, _, err := s.obstacles(t.Context(), []*form.Write{{Digest: digest}})
			return err
		},
	} {
		s, begin := d.open(Options{MaxConns: 4}), newBegin()
		if err := s.on(t.Context(), func(c *conn) error { _, err := c.exec(t.Context(), "SET SESSION lock_wait_timeout = /*M! 0 */ /*!80000 1 */"); return err }); err != nil {
			t.Fatal(err)
		}
		other, err := d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exec := func(statement string) {
			if _, err := other.ExecContext(t.Context(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		exec("LOCK TABLES reprise_record WRITE, test_clock READ")
		if err := look(s, begin.Scope.Digest); number(err) != lockTimeout {
			t.Errorf("%s: with the table locked: %v", name, err)
		}
		exec("UNLOCK TABLES")
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		tx := d.hold(begin.Scope.Digest)
		want(t, s, machine.NotFound, machine.Inspect{Scope: begin.Scope})
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}
