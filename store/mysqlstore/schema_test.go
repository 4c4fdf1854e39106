package mysqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	dsn := servicetest.MariaDB(t).Database(t)
	if _, err := Open(t.Context(), dsn, Options{}); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "migrate up") {
		t.Errorf("opened before: %v", err)
	}
	status, err := Status(t.Context(), dsn)
	if err != nil || status.Version != 0 || !status.Pending() {
		t.Errorf("before: %+v, %v", status, err)
	}
	for range 2 { // the second time there is nothing to do
		if status, err = Migrate(t.Context(), dsn); err != nil || status.Version != status.Latest || status.Pending() {
			t.Fatalf("%+v, %v", status, err)
		}
	}
	if status, err = Status(t.Context(), dsn); err != nil || status.Version != status.Latest {
		t.Errorf("after: %+v, %v", status, err)
	}
	s, err := Open(t.Context(), dsn, Options{Migrate: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	want(t, s, machine.CompletedNow, completion(begin, nil))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What was taken out of a database by hand is named, with what to do. It is not made again: that would be a store that knows nothing.
func TestMigrateFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	const emptied = "has tables of a store, and reprise_schema does not say of which version"
	for statement, says := range map[string]string{
		"DELETE FROM reprise_schema":                emptied,
		"DROP TABLE reprise_schema":                 emptied,
		"DROP TABLE reprise_record":                 "are at version 1, and there is no reprise_record: somebody has dropped it",
		"DROP TABLE reprise_secret":                 "there is no reprise_secret:",
		"DROP TABLE reprise_record, reprise_secret": "there is no reprise_record, reprise_secret:",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.exec(statement)
			tables := func() (n int) {
				if err := d.connect().QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&n); err != nil {
					t.Error(err)
				}
				return n
			}
			before := tables()
			for name, look := range map[string]func(context.Context, string) (SchemaStatus, error){"status": Status, "migrate": Migrate} {
				_, err := look(t.Context(), d.dsn)
				if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "from a backup") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if after := tables(); after != before {
				t.Errorf("there were %d tables, and are %d", before, after)
			}
		})
	}
}

// A migration that was interrupted is begun again, with what there is.
func TestMigrationGoesOn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec("DELETE FROM reprise_schema WHERE version_id > 0")
	d.exec("DROP TABLE reprise_secret")
	if status, err := Migrate(t.Context(), d.dsn); err != nil || status.Pending() {
		t.Errorf("%+v, %v", status, err)
	}
}

// The next schema is accepted, so that processes of two versions can share a database; one after it, or an
// older one, is not.
func TestOtherSchemas(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	latest, err := latestSchema()
	if err != nil {
		t.Fatal(err)
	}
	for version, says := range map[int64]string{latest + 1: "", latest + 2: "upgrade this program", latest - 1: "migrate up"} {
		d.exec("DELETE FROM reprise_schema WHERE version_id > 0")
		d.exec("INSERT INTO reprise_schema (version_id, is_applied) VALUES (?, true)", version)
		s, err := Open(t.Context(), d.dsn, Options{})
		if says == "" {
			if err != nil {
				t.Fatal(err)
			}
			want(t, s, machine.Acquired, newBegin())
			s.Close()
			continue
		}
		if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), says) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// Statements that change tables cannot be rolled back here: a migration that could not be finished is begun again.
func TestAMigrationThatWasInterrupted(t *testing.T) {
	t.Parallel()
	dsn := servicetest.MariaDB(t).Database(t)
	d := &database{TB: t, dsn: dsn}
	d.db = d.connect()
	// The first statements of the migration work, a later one does not.
	d.exec("CREATE VIEW reprise_secret AS SELECT 1 AS other")
	_, err := Migrate(t.Context(), dsn)
	if err == nil {
		_, err = d.db.ExecContext(t.Context(), "INSERT INTO reprise_secret VALUES (1, 2, 3, 4)")
	}
	if err == nil {
		t.Fatal("a view was taken for a table")
	}
	d.exec("DROP VIEW reprise_secret")
	d.exec("DELETE FROM reprise_schema WHERE version_id > 0")
	if status, err := Migrate(t.Context(), dsn); err != nil || status.Pending() {
		t.Fatalf("%+v, %v", status, err)
	}
	want(t, d.open2(t), machine.Acquired, newBegin())
}

// open2 opens a store by the server's own clock.
func (d *database) open2(t *testing.T) *Store {
	s, err := Open(t.Context(), d.dsn, Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// What is printed does what Migrate does, and the user whom it gives rights can do nothing more.
func TestPrint(t *testing.T) {
	t.Parallel()
	server := servicetest.MariaDB(t)
	dsn := server.Database(t)
	script, err := Print("")
	if err != nil || !strings.Contains(script, "-- GRANT SELECT ON reprise_schema") {
		t.Fatalf("%v\n%s", err, script)
	}
	server.Exec(databaseOf(t, dsn), script)
	if status, err := Status(t.Context(), dsn); err != nil || status.Pending() || status.Version != status.Latest {
		t.Errorf("%+v, %v", status, err)
	}
	for user, says := range map[string]string{"app": "TO `app`@`%`;", "app@10.0.0.1": "TO `app`@`10.0.0.1`;", "a`b": "TO `a``b`@`%`;"} {
		if script, err := Print(user); err != nil || !strings.Contains(script, says) {
			t.Errorf("%s: %v\n%s", user, err, script)
		}
	}
	d := newServiceDatabases(t)(t)
	service := &database{TB: t, dsn: d.service}
	service.db = service.connect()
	for _, statement := range []string{"DROP TABLE reprise_record", "DELETE FROM reprise_secret", "DELETE FROM reprise_schema", "CREATE TABLE t (id int)"} {
		if _, err := service.db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("the service may %s", statement)
		}
	}
}

// Because collations make one key of several (they ignore case, accents or trailing blanks): digests that would be
// equal as text are different keys, whatever order the database has for text.
func TestKeysAreComparedAsBytes(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{})
	texts := []string{"order", "ORDER", "\xc3\xb6rder", "o\xcc\x88rder", "order ", "order  ", "\x00order", ""}
	for i, one := range texts {
		begin := newBegin()
		begin.Scope.Digest = machine.Digest{}
		copy(begin.Scope.Digest[:], fmt.Sprintf("%-32s", one)[:32])
		if i%2 == 0 { // padded with nothing, and with blanks
			begin.Scope.Digest = machine.Digest{}
			copy(begin.Scope.Digest[:], one)
		}
		if begin.Scope.Digest == (machine.Digest{}) {
			continue // which no digest is
		}
		want(t, s, machine.Acquired, begin)
		want(t, s, machine.CompletedNow, completion(begin, []byte(one)))
		if reply := want(t, s, machine.Replay, anotherCaller(begin)); string(reply.Response.Data) != one {
			t.Errorf("%q has the answer of %q", one, reply.Response.Data)
		}
	}
}
