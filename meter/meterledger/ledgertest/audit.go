package ledgertest

import (
	"testing"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// The audit sums up what the rows say, and says what is left; that it finds what is wrong is tested where tables can be
// harmed.
func testAudit(t *testing.T, server Server) {
	w := newWorld(t, server)
	rows := w.some(120)
	w.append(rows...)
	_, err := w.Fold(t.Context(), meterledger.FoldOptions{Limit: 50})
	w.must(err)
	a := w.audited()
	want, err := meter.Fold(rows)
	w.must(err)
	for key, sums := range want.Totals {
		if got := a.Usage[key].All; got != sums {
			t.Errorf("%+v: %+v, want %+v", key, got, sums)
		}
	}
	for key, sums := range want.Snapshots {
		if got := a.Months[key].All; got != sums {
			t.Errorf("%+v: %+v, want %+v", key, got, sums)
		}
	}
	if len(a.Usage) != len(want.Totals) || len(a.Months) != len(want.Snapshots) {
		t.Errorf("%d days and %d months, want %d and %d", len(a.Usage), len(a.Months), len(want.Totals), len(want.Snapshots))
	}
	left := a.Left()
	for key, allowance := range w.book.Individual {
		got := left[meterledger.Account{Owner: "l:" + key.Owner, Month: key.Month}]
		if got.Individual != meter.WideOf(allowance.Amount) || got.QoS != meter.WideOf(allowance.QoS) {
			t.Errorf("%v: %v, want %+v", key, got, allowance)
		}
	}
	for key, allowance := range w.book.Shared {
		if got := left[meterledger.Account{Owner: "f:" + key.Owner, Month: key.Month}]; got.Shared != meter.WideOf(allowance.Amount) {
			t.Errorf("%v: %v, want %+v", key, got, allowance)
		}
	}
	for _, tag := range []string{"f:fam", "f:kin", "l:cas"} {
		a, err := w.Audit(t.Context(), meterledger.Unit(tag))
		if err != nil || len(a.Differences()) > 0 || len(a.Granted) == 0 {
			t.Errorf("%s: %v, %v, %v", tag, a.Differences(), a.Granted, err)
		}
	}
}

// What is said for whoever assesses a loss: how many keys there should be, and what later changes sum up to.
func testLost(t *testing.T, server Server) {
	w := newWorld(t, server)
	rows := w.some(120)
	w.append(rows...)
	_, err := w.Fold(t.Context(), meterledger.FoldOptions{Limit: 50})
	w.must(err)
	keys, err := w.ExpectedKeys(t.Context(), []meter.Month{1, 999912}, []meter.Day{1, 99991231})
	b := w.book
	want := meterledger.KeyCounts{
		Individual: int64(len(b.Individual)), Shared: int64(len(b.Shared)), DailyTotal: int64(len(b.DailyTotal)), DailyShared: int64(len(b.DailyShared)), MonthlyShared: int64(len(b.MonthlyShared)),
	}
	if keys != want || err != nil {
		t.Errorf("%+v, want %+v, %v", keys, want, err)
	}
	all, err := w.LostMonths(t.Context(), 1)
	if first, last := rows[0].Event.At, rows[4].Event.At; all.Events != 120 || !all.First.Equal(first) || !all.Last.Equal(last) || err != nil {
		t.Errorf("%+v, want those from %v to %v, %v", all, first, last, err)
	}
	has, later := map[string]int64{}, meterledger.Lost{}
	for line, changes := range b.LineVersions {
		has[line] = changes - 2
	}
	for _, r := range rows {
		if r.Result.LineVersion > has[r.Event.Line] {
			later.Events++
			later.Bytes.Individual = later.Bytes.Individual.Plus(meter.WideOf(r.Result.Individual))
		}
	}
	if lost, err := w.LostChanges(t.Context(), b.Generation, has); lost.Events != later.Events || lost.Bytes.Individual != later.Bytes.Individual || err != nil {
		t.Errorf("%+v, want %+v, %v", lost, later, err)
	}
	if lost, err := w.LostChanges(t.Context(), b.Generation, nil); lost.Events != 0 || !lost.First.IsZero() || err != nil {
		t.Errorf("of no line: %+v, %v", lost, err)
	}
}
