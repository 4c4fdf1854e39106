package meterledger

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// Whatever is wrong in the tables, the audit finds it and names the row.
func TestAuditFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dsn    string
		schema string
	}{
		"Postgres": {servicetest.Postgres(t).Database(t), "reprise."},
		"MariaDB":  {servicetest.MariaDB(t).Database(t), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := filled(t, c.dsn)
			for _, harm := range []struct{ do, undo, want string }{
				{"UPDATE %smeter_daily_app_total SET individual = individual + 1 WHERE line = 'line-3' AND app = 'app-2'", "UPDATE %smeter_daily_app_total SET individual = individual - 1 WHERE line = 'line-3' AND app = 'app-2'", "meter_daily_app_total, line line-3"},
				{"UPDATE %smeter_daily_app_total SET events = events + 1 WHERE line = 'line-3' AND app = 'app-2'", "UPDATE %smeter_daily_app_total SET events = events - 1 WHERE line = 'line-3' AND app = 'app-2'", "meter_daily_app_total, line line-3"},
				{"UPDATE %smeter_monthly_snapshot SET qos = 1 WHERE line = 'line-4'", "UPDATE %smeter_monthly_snapshot SET qos = 0 WHERE line = 'line-4'", "meter_monthly_snapshot, line line-4"},
				{"UPDATE %smeter_monthly_snapshot SET family = 'x' WHERE line = 'line-4'", "UPDATE %smeter_monthly_snapshot SET family = '' WHERE line = 'line-4'", "meter_monthly_snapshot, line line-4"},
				{"UPDATE %smeter_done SET fold = 99 WHERE line = 'line-5' AND fold IS NULL", "UPDATE %smeter_done SET fold = NULL WHERE line = 'line-5' AND fold = 99", "meter_daily_app_total, line line-5"},
				{"UPDATE %smeter_done SET fold = NULL WHERE line = 'line-299'", "UPDATE %smeter_done SET fold = 1 WHERE line = 'line-299'", "meter_monthly_snapshot, line line-299"},
				{"UPDATE %smeter_grants SET individual = 1 WHERE line = 'line-6'", "UPDATE %smeter_grants SET individual = 100 WHERE line = 'line-6'", "meter_grants, l:line-6"},
			} {
				l.execute(t, harm.do, c.schema)
				if found := l.differences(t); !strings.Contains(found, harm.want) {
					t.Errorf("%s: %q", harm.do, found)
				}
				l.execute(t, harm.undo, c.schema)
				if found := l.differences(t); found != "" {
					t.Fatalf("%s: %s", harm.undo, found)
				}
			}
		})
	}
}

func (l *Ledger) execute(t *testing.T, form, schema string) {
	t.Helper()
	result, err := l.db.ExecContext(t.Context(), fmt.Sprintf(form, schema))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		t.Fatalf("%s harmed nothing: %v", form, err)
	}
}

func (l *Ledger) differences(t *testing.T) string {
	t.Helper()
	ranges, err := l.Ranges(t.Context(), 40)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, r := range ranges {
		a, err := l.Audit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range a.Differences() {
			found += d.String() + "\n"
		}
	}
	return found
}

// Both servers have the same statements, each of them is used, and a schema's name is put into all of them.
func TestStatements(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"postgres://h/db?schema=other", "mysql://u@h/db"} {
		e, err := parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		q, err := newQueries(e)
		if err != nil {
			t.Fatal(err)
		}
		named := q.named()
		files, err := fs.Glob(e.files(), "*.sql")
		if err != nil || len(files) != len(named) {
			t.Errorf("%s: %d files, and %d statements: %v", dsn, len(files), len(named), err)
		}
		for _, file := range files {
			s := named[strings.TrimSuffix(file, ".sql")]
			if s == nil {
				t.Errorf("%s: %s is not used", dsn, file)
			} else if s.text == "" || strings.Contains(s.text, "reprise.meter_") && strings.HasPrefix(dsn, "postgres") {
				t.Errorf("%s: %s is %q", dsn, file, s.text)
			}
		}
	}
}
