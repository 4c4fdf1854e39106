package meterledger

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/reprise-dev/reprise/internal/dsn"
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
			l, db := filled(t, c.dsn), bare(t, c.dsn)
			for _, harm := range []struct{ do, undo, want string }{
				{"UPDATE %smeter_daily_app_total SET individual = individual + 1 WHERE line = 'line-3' AND app = 'app-2'", "UPDATE %smeter_daily_app_total SET individual = individual - 1 WHERE line = 'line-3' AND app = 'app-2'", "meter_daily_app_total, line line-3"},
				{"UPDATE %smeter_daily_app_total SET events = events + 1 WHERE line = 'line-3' AND app = 'app-2'", "UPDATE %smeter_daily_app_total SET events = events - 1 WHERE line = 'line-3' AND app = 'app-2'", "meter_daily_app_total, line line-3"},
				{"UPDATE %smeter_monthly_snapshot SET qos = 1 WHERE line = 'line-4'", "UPDATE %smeter_monthly_snapshot SET qos = 0 WHERE line = 'line-4'", "meter_monthly_snapshot, line line-4"},
				{"UPDATE %smeter_monthly_snapshot SET family = 'x' WHERE line = 'line-4'", "UPDATE %smeter_monthly_snapshot SET family = '' WHERE line = 'line-4'", "meter_monthly_snapshot, line line-4"},
				{"UPDATE %smeter_done SET fold = 99 WHERE line = 'line-5' AND fold IS NULL", "UPDATE %smeter_done SET fold = NULL WHERE line = 'line-5' AND fold = 99", "meter_daily_app_total, line line-5"},
				{"UPDATE %smeter_done SET fold = NULL WHERE line = 'line-299'", "UPDATE %smeter_done SET fold = 1 WHERE line = 'line-299'", "meter_monthly_snapshot, line line-299"},
				{"UPDATE %smeter_grants SET individual = 1 WHERE line = 'line-6'", "UPDATE %smeter_grants SET individual = 100 WHERE line = 'line-6'", "meter_grants, l:line-6"},
			} {
				execute(t, db, harm.do, c.schema)
				if found := l.differences(t); !strings.Contains(found, harm.want) {
					t.Errorf("%s: %q", harm.do, found)
				}
				execute(t, db, harm.undo, c.schema)
				if found := l.differences(t); found != "" {
					t.Fatalf("%s: %s", harm.undo, found)
				}
			}
		})
	}
}

// execute harms the tables.
func execute(t *testing.T, db *sql.DB, form, schema string) {
	t.Helper()
	result, err := db.ExecContext(t.Context(), fmt.Sprintf(form, schema))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		t.Fatalf("%s harmed nothing: %v", form, err)
	}
}

// bare returns a pool of the database without the ledger.
func bare(t *testing.T, text string) *sql.DB {
	t.Helper()
	var connector driver.Connector
	if p, err := dsn.ParsePostgres(text); err == nil {
		config, err := p.Config()
		if err != nil {
			t.Fatal(err)
		}
		connector = stdlib.GetConnector(*config.ConnConfig)
	} else {
		m, err := dsn.ParseMySQL(text)
		if err != nil {
			t.Fatal(err)
		}
		config, err := m.Config()
		if err != nil {
			t.Fatal(err)
		}
		if connector, err = mysql.NewConnector(config); err != nil {
			t.Fatal(err)
		}
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
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

// Both servers have the same statements, and each of them is used.
func TestStatements(t *testing.T) {
	t.Parallel()
	named := new(queries).named()
	for _, server := range []string{"postgres", "mysql"} {
		all, err := fs.Glob(files, server+"/*.sql")
		if err != nil || len(all) != len(named) {
			t.Errorf("%s: %d files, and %d statements: %v", server, len(all), len(named), err)
		}
		for _, file := range all {
			if named[strings.TrimSuffix(path.Base(file), ".sql")] == nil {
				t.Errorf("%s is not used", file)
			}
		}
	}
}
