package meterledger

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// hot are the statements that look into tables which only grow, with arguments, and the index that has to serve each,
// as PostgreSQL and MariaDB call it.
func (l *Ledger) hot() map[string]struct {
	statement database.Statement
	arguments []any
	indexes   [2]string
} {
	lines, events := `["line-1","line-2"]`, `[{"l":"line-1","e":"e-1"}]`
	return map[string]struct {
		statement database.Statement
		arguments []any
		indexes   [2]string
	}{
		"look up":         {l.sql.lookUp, []any{events}, [2]string{"meter_done_pkey", "meter_done_event"}},
		"unfolded":        {l.sql.unfolded, []any{lines, 202601}, [2]string{"meter_done_unfolded", "meter_done_unfolded"}},
		"recent":          {l.sql.recent, []any{lines, int64(5)}, [2]string{"meter_done_recent", "meter_done_recent"}},
		"next unfolded":   {l.sql.nextUnfolded, []any{"line-1", 20260310, 100, pastAll}, [2]string{"meter_done_unfolded", "meter_done_unfolded"}},
		"take unfolded":   {l.sql.takeUnfolded, []any{events}, [2]string{"meter_done_pkey", "meter_done_event"}},
		"stamp":           {l.sql.stamp, []any{events, int64(1)}, [2]string{"meter_done_pkey", "meter_done_event"}},
		"changes":         {l.sql.changes, []any{lines, `["fam"]`, "a1", 0, 999912}, [2]string{"meter_done_unfolded", "meter_done_unfolded"}},
		"changes, folded": {l.sql.changes, []any{lines, `["fam"]`, "a1", 0, 999912}, [2]string{"meter_folded_changes_pkey", "PRIMARY"}},
		"totals":          {l.sql.lineTotals, []any{lines, 20260301}, [2]string{"meter_daily_app_total_pkey", "PRIMARY"}},
		"snapshots":       {l.sql.lineSnapshots, []any{lines, 202601}, [2]string{"meter_monthly_snapshot_pkey", "PRIMARY"}},
		"shared":          {l.sql.familySnapshots, []any{`["fam"]`, 202601}, [2]string{"meter_monthly_snapshot_family", "meter_monthly_snapshot_family"}},
		"grants":          {l.sql.lineGrants, []any{lines, 202601, 202612}, [2]string{"meter_grants_line", "meter_grants_monthly"}},
		"family grants":   {l.sql.familyGrants, []any{`["fam"]`, 202601, 202612}, [2]string{"meter_grants_family", "meter_grants_family"}},
		"unconfirmed":     {l.sql.unconfirmed, []any{202603, "", 10}, [2]string{"meter_grants_unconfirmed", "meter_grants_unconfirmed"}},
		"members":         {l.sql.membersIn, []any{"", "~", "", "~"}, [2]string{"meter_members_now", "meter_members_now"}},
		"next lines":      {l.sql.nextLines, []any{"line-1", 10}, [2]string{"meter_members_now", "meter_members_now"}},
		"inbox":           {l.sql.takeInbox, []any{10}, [2]string{"meter_inbox_available", "meter_inbox_available"}},
		"purge":           {l.sql.purgeable, []any{lines, int64(5), 20260310, 10}, [2]string{"meter_done_recent", "meter_done_recent"}},
		"audit of purged": {l.sql.auditPurged, []any{"line-1", "line-2", "", ""}, [2]string{"meter_done_", "meter_done_"}},
		"audit of grants": {l.sql.auditGrants, []any{"line-1", "line-2", "", ""}, [2]string{"meter_grants_", "meter_grants_monthly"}},
		"audit of totals": {l.sql.auditTotals, []any{"line-1", "line-2", "", ""}, [2]string{"meter_daily_app_total", "PRIMARY"}},
		"audit":           {l.sql.auditUsage, []any{"line-1", "line-2", "", ""}, [2]string{"meter_done_", "meter_done_"}},
	}
}

// scan is what a plan says where it reads a table from end to end. On MariaDB batches have the aliases k, r, l and f, and are read so.
var scan = regexp.MustCompile(`Seq Scan on meter_|table=[dtgmicp] type=ALL`)

// Because a plan that reads a log from end to end gets slower every day: each statement is served by its index, and none
// reads a table that grows.
func TestPlans(t *testing.T) {
	t.Parallel()
	for i, dsn := range []func(testing.TB) string{
		withoutStatistics,
		func(t testing.TB) string { return servicetest.MariaDB(t).Database(t) },
	} {
		t.Run([]string{"Postgres", "MariaDB"}[i], func(t *testing.T) {
			t.Parallel()
			l := filled(t, dsn(t))
			for name, c := range l.hot() {
				plan, err := l.db.Explain(t.Context(), c.statement, c.arguments...)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(plan, c.indexes[i]) {
					t.Errorf("%s is not served by %s:\n%s", name, c.indexes[i], plan)
				}
				if scan.MatchString(plan) {
					t.Errorf("%s reads a table from end to end:\n%s", name, plan)
				}
			}
		})
	}
}

// withoutStatistics is a database in PostgreSQL whose tables nobody analyzes: in the middle of the test they would be found to be small, for
// which other plans do as well.
func withoutStatistics(t testing.TB) string {
	server := servicetest.Postgres(t)
	dsn := server.Database(t)
	l, err := Open(t.Context(), dsn, Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server.Exec(path.Base(strings.Split(dsn, "?")[0]), `DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'reprise'::regnamespace AND relkind = 'r' LOOP
			EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', t);
		END LOOP;
	END $$`)
	return dsn
}

// filled is a ledger with a log of which most is folded.
func filled(t *testing.T, dsn string) *Ledger {
	t.Helper()
	ctx := t.Context()
	l, err := Open(ctx, dsn, Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var lines []Line
	for i := range 300 {
		lines = append(lines, Line{ID: fmt.Sprintf("line-%d", i), Family: []string{"", "fam"}[i%2], Individual: 100})
	}
	must(l.Import(ctx, []Family{{ID: "fam"}}, lines, nil))
	must(l.NewGeneration(ctx, "", "a1", "test", "first"))
	_, err = l.OpenMonth(ctx, 202603)
	must(err)
	for round := range 2 {
		var rows []meter.Row
		for i := range 3000 {
			line := lines[i%300]
			rows = append(rows, meter.Row{
				Event:  meter.Event{ID: fmt.Sprintf("e-%d-%d", round, i), Line: line.ID, App: fmt.Sprintf("app-%d", i/300), Bytes: 1, At: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)},
				Result: meter.Result{Split: meter.Split{Individual: 1}, Day: 20260310, Month: 202603, Family: line.Family, Generation: "a1", LineVersion: int64(i + 1)},
			})
		}
		if round == 1 {
			rows = rows[:50]
		}
		_, err = l.AppendDone(ctx, "a1", rows)
		must(err)
		if round == 0 {
			_, err = l.Fold(ctx, FoldOptions{})
			must(err)
		}
		for _, r := range rows[:20] {
			must(l.PutInbox(ctx, []meter.Event{r.Event}))
		}
	}
	return l
}
