package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{DefaultSchema, "elsewhere", "public"} {
		dsn := with(t, servicetest.Postgres(t).Database(t), "schema", schema)
		status, err := Status(t.Context(), dsn)
		if err != nil || status.Version != 0 || !status.Pending() {
			t.Errorf("%s, before: %+v, %v", schema, status, err)
		}
		for range 2 { // the second time there is nothing to do
			if status, err = Migrate(t.Context(), dsn); err != nil || status.Version != status.Latest || status.Pending() {
				t.Fatalf("%s: %+v, %v", schema, status, err)
			}
		}
		if status, err = Status(t.Context(), dsn); err != nil || status.Version != status.Latest {
			t.Errorf("%s, after: %+v, %v", schema, status, err)
		}
		s, err := Open(t.Context(), dsn, Options{MaxConns: 4})
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
		d.exec("DELETE FROM reprise.reprise_schema WHERE version_id > 0")
		d.exec("INSERT INTO reprise.reprise_schema (version_id, is_applied) VALUES ($1, true)", version)
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

func TestOpenCanMigrate(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), servicetest.Postgres(t).Database(t), Options{Migrate: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	want(t, s, machine.Acquired, newBegin())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A migration that cannot be finished leaves no part of itself, and tells why.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t).Database(t)
	d := &database{TB: t, dsn: dsn, schema: DefaultSchema}
	// The first statements of the migration work, a later one does not.
	d.exec("CREATE SCHEMA reprise; CREATE VIEW reprise.reprise_secret AS SELECT 1 AS other")
	if _, err := Migrate(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "reprise_secret") {
		t.Fatalf("%v", err)
	}
	if status, err := Status(t.Context(), dsn); err != nil || status.Version != 0 {
		t.Errorf("%+v, %v", status, err)
	}
	var half *string
	if err := d.connect().QueryRow(t.Context(), "SELECT to_regclass('reprise.reprise_open')::text").Scan(&half); err != nil || half != nil {
		t.Errorf("half of the schema is there: %v", err)
	}
	d.exec("DROP VIEW reprise.reprise_secret")
	if status, err := Migrate(t.Context(), dsn); err != nil || status.Pending() {
		t.Errorf("%+v, %v", status, err)
	}
}

// What was taken out of a schema by hand is named, with what to do. It is not made again: that would be a store that knows nothing.
func TestMigrateFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	const emptied = "has tables of a store, and reprise.reprise_schema does not say of which version"
	for statement, says := range map[string]string{
		"DELETE FROM reprise.reprise_schema":                          emptied,
		"DELETE FROM reprise.reprise_schema WHERE version_id > 0":     emptied,
		"DROP TABLE reprise.reprise_schema":                           emptied,
		"DROP TABLE reprise.reprise_open":                             "is at version 1, and has no reprise_open: somebody has dropped that",
		"DROP TABLE reprise.reprise_answered, reprise.reprise_secret": "has no reprise_answered, reprise_secret:",
		"DROP FUNCTION reprise.reprise_begin":                         "has no reprise_begin():",
		"ALTER TABLE reprise.reprise_secret SET SCHEMA public":        "has no reprise_secret:",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.exec(statement)
			const contents = "SELECT count(*) FROM pg_class WHERE relnamespace = 'reprise'::regnamespace"
			var before, after int
			if err := d.connect().QueryRow(t.Context(), contents).Scan(&before); err != nil {
				t.Fatal(err)
			}
			for name, look := range map[string]func(context.Context, string) (SchemaStatus, error){"status": Status, "migrate": Migrate} {
				_, err := look(t.Context(), d.dsn)
				if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "from a backup") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := d.connect().QueryRow(t.Context(), contents).Scan(&after); err != nil || after != before {
				t.Errorf("there were %d things in the schema, and are %d: %v", before, after, err)
			}
		})
	}
}

// Every table and function of the schema is one that is missed.
func TestPartsOfTheSchema(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	rows, err := d.connect().Query(t.Context(), `SELECT 'DROP TABLE ' || oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace = 'reprise'::regnamespace AND relname NOT IN ('reprise_schema', 'test_clock')
		UNION ALL SELECT 'DROP FUNCTION ' || oid::regprocedure || ' CASCADE' FROM pg_proc WHERE pronamespace = 'reprise'::regnamespace`)
	if err != nil {
		t.Fatal(err)
	}
	drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(drops) != 7 {
		t.Fatalf("%v, %v", drops, err)
	}
	for _, drop := range drops {
		d := newDatabase(t)
		d.exec(drop)
		if _, err := Status(t.Context(), d.dsn); !errors.Is(err, store.ErrSchema) {
			t.Errorf("%s: %v", drop, err)
		}
	}
}

// What Print returns does what Migrate does.
func TestPrintedScript(t *testing.T) {
	t.Parallel()
	server := servicetest.Postgres(t)
	for _, schema := range []string{DefaultSchema, "by_hand"} {
		migrated, byHand := server.Database(t), server.Database(t)
		if _, err := Migrate(t.Context(), with(t, migrated, "schema", schema)); err != nil {
			t.Fatal(err)
		}
		script, err := Print(schema, "")
		if err != nil {
			t.Fatal(err)
		}
		d := &database{TB: t, dsn: byHand, schema: schema}
		d.exec("BEGIN;" + script + "COMMIT")
		if status, err := Migrate(t.Context(), with(t, byHand, "schema", schema)); err != nil || status.Pending() {
			t.Errorf("%s: %+v, %v", schema, status, err)
		}
		want, got := shape(t, migrated, schema), shape(t, byHand, schema)
		if want != got || !strings.Contains(got, "reprise_commit") {
			t.Errorf("%s:\n%s\nwant\n%s", schema, got, want)
		}
	}
	if _, err := Print("No Schema", ""); err == nil {
		t.Error("a name that has to be quoted was accepted")
	}
}

// shape describes what is in a schema.
func shape(t *testing.T, dsn, schema string) string {
	d := &database{TB: t, dsn: dsn, schema: schema}
	rows, err := d.connect().Query(t.Context(), `
		SELECT format('%s %s %s', table_name, column_name, data_type) AS line FROM information_schema.columns WHERE table_schema = $1
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1
		UNION ALL SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1)
		UNION ALL SELECT format('version %s %s', version_id, is_applied) FROM `+schema+`.reprise_schema
		ORDER BY line`, schema)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// A role with the rights of the service cannot change the schema.
func TestTheServiceCannotChangeTheSchema(t *testing.T) {
	t.Parallel()
	d := newServiceDatabases(t)(t)
	service := &database{TB: t, dsn: d.service, schema: d.schema}
	for _, statement := range []string{
		"DROP TABLE %s.reprise_open", "CREATE TABLE %s.other (id int)", "ALTER TABLE %s.reprise_open ADD COLUMN more int",
		"TRUNCATE %s.reprise_answered", "DELETE FROM %s.reprise_secret", "UPDATE %s.reprise_schema SET is_applied = false",
	} {
		if _, err := service.connect().Exec(t.Context(), fmt.Sprintf(statement, d.schema)); sqlState(err) != "42501" {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
