package main

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// onServices runs a test on a ledger as the documentation says for those who change schemas themselves: the owner of the database runs what
// is printed, and the service has a role that can do no more than that grants.
func onServices(t *testing.T, test func(t *testing.T, at *meterSite)) {
	t.Helper()
	for name, ledger := range map[string]func(t *testing.T) string{"postgres": printedPostgres, "mariadb": printedMariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sql := ledger(t)
			for _, command := range []struct{ verb, says string }{{"status", "up to date"}, {"up", "nothing to do"}} {
				if out := must(t, "migrate", command.verb, "--ledger", sql); strings.Count(out, command.says) != 2 {
					t.Errorf("migrate %s, after what is printed was run: %s", command.verb, out)
				}
			}
			test(t, newMeterSiteOn(t, sql))
		})
	}
}

func printedPostgres(t *testing.T) string {
	t.Helper()
	server := servicetest.Postgres(t)
	owner := server.Database(t)
	dsn := roleFor(t, server, owner)
	dropRole(t, server, owner, dsn)
	execute(t, owner, "BEGIN;"+must(t, "migrate", "print", "--ledger", owner, "--role", roleOf(t, dsn))+"COMMIT")
	return dsn
}

func printedMariaDB(t *testing.T) string {
	t.Helper()
	server := servicetest.MariaDB(t)
	owner := server.Database(t)
	dsn := userFor(t, server, owner)
	server.Exec(databaseOf(t, owner), must(t, "migrate", "print", "--ledger", owner, "--role", roleOf(t, dsn)))
	return dsn
}

// restores: Redis is emptied and made again, by who has no more rights than to use the tables.
func (at *meterSite) restores() {
	at.t.Helper()
	connection, err := servicetest.Redis(at.t).Dial(at.redis)
	if err != nil {
		at.t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Do("FLUSHDB"); err != nil {
		at.t.Fatal(err)
	}
	both := []string{"--redis", at.redis, "--ledger", at.sql}
	if c := call(at.t, "", append([]string{"restore", "assess"}, both...)...); c.code != exitDifferent || !strings.Contains(c.out, "empty") {
		at.t.Errorf("without the file, of which the ledger knows what is needed: %+v", c)
	}
	if c := call(at.t, "", append([]string{"restore", "start"}, both...)...); c.code != exitUsage || !strings.Contains(c.err, "--config") {
		at.t.Errorf("without the file, which says how long processes drain: %+v", c)
	}
	for _, args := range [][]string{{"start", "--who", "ann", "--why", "Redis was emptied"}, {"verify", "--correct", "--who", "ann", "--why", "a look"}} {
		must(at.t, append(append([]string{"restore"}, args...), "--config", at.path("meter.yaml"))...)
	}
	for _, args := range [][]string{{"status", "--watch"}, {"verify"}, {"certificate"}} {
		must(at.t, append(append([]string{"restore"}, args...), both...)...)
	}
	if c := callIn(at.t, []string{"REPRISE_METER_RETENTION=9d"}, "", append([]string{"restore", "status"}, both...)...); c.code != exitUsage || !strings.Contains(c.err, "retention") {
		at.t.Errorf("another retention, which was said: %+v", c)
	}
	at.must("audit")
}
