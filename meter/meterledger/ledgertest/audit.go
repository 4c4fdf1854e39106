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
