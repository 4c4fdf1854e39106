package main

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// withTables makes a store in a database of its own, whose owner uses it, and changes it by hand.
func withTables(t *testing.T, kind, statement string) *site {
	t.Helper()
	var s *site
	switch kind {
	case "SQLite":
		s = newFileSite(t)
		s.must(t, "store", "init", "--new")
		sqliteExec(t, strings.TrimPrefix(s.dsn, "sqlite:"), strings.ReplaceAll(statement, "reprise.", ""))
	case "PostgreSQL":
		s = newServerSite(t, servicetest.Postgres(t).Database(t))
		s.must(t, "store", "init", "--new")
		execute(t, s.dsn, statement)
	case "MariaDB":
		s = newServerSite(t, servicetest.MariaDB(t).Database(t))
		s.must(t, "store", "init", "--new")
		servicetest.MariaDB(t).Exec(databaseOf(t, s.dsn), strings.ReplaceAll(statement, "reprise.", ""))
	}
	return s
}

// Whoever has changed a schema by hand is told what is wrong and what to do, by every command, and never in words of SQL.
func TestSchemaThatWasChangedByHand(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "PostgreSQL", "MariaDB"} {
		for statement, want := range map[string]string{
			"DELETE FROM reprise.reprise_schema": "does not say of which version: it was emptied or dropped",
			"DROP TABLE reprise.reprise_schema":  "does not say of which version: it was emptied or dropped",
			"DROP TABLE reprise.reprise_secret":  "no reprise_secret: somebody has dropped",
		} {
			t.Run(kind+" "+statement, func(t *testing.T) {
				t.Parallel()
				at := withTables(t, kind, statement)
				for _, args := range [][]string{{"migrate", "status"}, {"migrate", "up"}, {"store", "init", "--new"}} {
					c := at.call(t, args...)
					if c.code != exitFailed || !strings.Contains(c.err, want) || !strings.Contains(c.err, "from a backup") || c.out != "" {
						t.Errorf("%v: %+v", args, c)
					}
					if text := strings.ToLower(c.err); strings.Contains(text, "sqlstate") || strings.Contains(text, "error 1") || strings.Contains(text, "no such table") || strings.Contains(text, "already exists") {
						t.Errorf("%v says it in words of SQL: %s", args, c.err)
					}
				}
				if c := at.call(t, proxyLine...); c.code != exitFailed || !strings.Contains(c.err, want) && !strings.Contains(c.err, "reprise migrate status says which") {
					t.Errorf("proxy: %+v", c)
				}
			})
		}
	}
}

// What looks like an interrupted migration of MariaDB may be a store all the same, and is not called none.
func TestMigrateKnowsAStore(t *testing.T) {
	t.Parallel()
	at := withTables(t, "MariaDB", "DELETE FROM reprise_schema WHERE version_id > 0")
	if c := at.call(t, "migrate", "up"); c.code != exitDone || !strings.Contains(c.out, "It knows of a secret") || strings.Contains(c.out, "no store yet") {
		t.Errorf("%+v", c)
	}
	if c := at.call(t, "migrate", "up"); c.code != exitDone || !strings.Contains(c.out, "nothing to do") {
		t.Errorf("%+v", c)
	}
	at.must(t, "ops", "list")
	at = newServerSite(t, servicetest.MariaDB(t).Database(t))
	if c := at.call(t, "migrate", "up"); c.code != exitDone || !strings.Contains(c.out, "It is no store yet") {
		t.Errorf("%+v", c)
	}
}

// So is whoever has changed the tables of a ledger.
func TestLedgerThatWasChangedByHand(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"DELETE FROM reprise.meter_schema":  "there are tables of the ledger, and meter_schema does not say of which version",
		"DROP TABLE reprise.meter_schema":   "there are tables of the ledger, and meter_schema does not say of which version",
		"DROP TABLE reprise.meter_done":     "there is no meter_done:",
		"DROP TABLE reprise.meter_horizon":  "there is no meter_horizon:",
		"DROP TABLE reprise.restore_events": "there is no restore_events:",
	} {
		for kind, s := range map[string]struct {
			dsn  string
			exec func(dsn string)
		}{
			"PostgreSQL": {servicetest.Postgres(t).Database(t), func(dsn string) { execute(t, dsn, statement) }},
			"MariaDB": {servicetest.MariaDB(t).Database(t), func(dsn string) {
				servicetest.MariaDB(t).Exec(databaseOf(t, dsn), strings.ReplaceAll(statement, "reprise.", ""))
			}},
		} {
			t.Run(kind+" "+statement, func(t *testing.T) {
				t.Parallel()
				must(t, "migrate", "up", "--ledger", s.dsn)
				s.exec(s.dsn)
				for _, command := range []string{"status", "up"} {
					c := call(t, "", "migrate", command, "--ledger", s.dsn)
					if c.code != exitFailed || !strings.Contains(c.err, want) || !strings.Contains(c.err, "from a backup") {
						t.Errorf("%s: %+v", command, c)
					}
				}
			})
		}
	}
}

// A PgBouncer in statement mode is refused, and not waited for.
func TestLedgerBehindPgBouncerInStatementMode(t *testing.T) {
	t.Parallel()
	dsn := with(t, servicetest.PgBouncer(t, servicetest.Postgres(t).Database(t), servicetest.PoolStatement), "pgbouncer", "1")
	if c := call(t, "", "migrate", "up", "--ledger", dsn); c.code != exitFailed || !strings.Contains(c.err, "pool_mode = transaction") {
		t.Errorf("%+v", c)
	}
	if c := call(t, "", "migrate", "up", "--store", dsn); c.code != exitFailed || !strings.Contains(c.err, "pool_mode = transaction") {
		t.Errorf("%+v", c)
	}
}
