package meterledger_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterledger/ledgertest"
)

// In a schema of another name than the files say; other tests have that one.
func TestPostgres(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t testing.TB) string { return with(t, servicetest.Postgres(t).Database(t), "schema", "elsewhere") })
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t testing.TB) string { return servicetest.MariaDB(t).Database(t) })
}

// with returns a DSN with one more parameter.
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

// Through a PgBouncer in transaction mode, two statements of one client may run in two sessions of the server: nothing
// is left in them, and all works.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := open(t, with(t, servicetest.PgBouncer(t, servicetest.Postgres(t).Database(t), servicetest.PoolTransaction), "pgbouncer", "1"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.Import(ctx, []meterledger.Family{{ID: "fam", Shared: 5}}, []meterledger.Line{{ID: "ann", Family: "fam", Individual: 1_000_000}}, []string{"video"}))
	must(l.NewGeneration(ctx, "", "a1", "test", "first"))
	_, err := l.OpenMonth(ctx, 202603)
	must(err)
	var rows []meter.Row
	for version := range int64(40) {
		r := row("ann", version+1)
		r.Result.Family = "fam"
		rows = append(rows, r)
	}
	for range 2 {
		_, err = l.AppendDone(ctx, "a1", rows)
		must(err)
	}
	must(l.PutInbox(ctx, []meter.Event{rows[0].Event}))
	_, err = l.TakeInbox(ctx, "worker", 5, time.Minute)
	must(err)
	_, err = l.Fold(ctx, meterledger.FoldOptions{Batch: 7, Limit: 20})
	must(err)
	held, err := l.Read(ctx, meterledger.Range{}, meterledger.Horizon{Months: meter.Span{First: 202603, Last: meter.LastMonth}, Day: 20260301, RecordLife: time.Hour})
	must(err)
	book, err := meter.Rebuild(held.Source)
	must(err)
	if left := book.Individual[meter.MonthKey{Owner: "ann", Month: 202603}].Amount; left != 960_000 || len(held.Rows) != 20 || len(held.Folded) != 20 {
		t.Errorf("%d are left, %d rows, %d folded", left, len(held.Rows), len(held.Folded))
	}
	a, err := l.Audit(ctx, meterledger.Range{})
	must(err)
	for _, d := range a.Differences() {
		t.Error(d)
	}
}
