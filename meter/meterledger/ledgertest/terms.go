package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// The first terms stay; only the horizon can be renewed.
func testTerms(t *testing.T, server Server) {
	w := emptyWorld(t, server)
	terms := func(zone string, anchor int, retention, tolerance time.Duration) meterledger.Terms {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		c, err := meter.NewCalendar(location, anchor)
		if err != nil {
			t.Fatal(err)
		}
		return meterledger.Terms{Calendar: c, Horizon: meter.Horizon{Retention: retention, Tolerance: tolerance, Ahead: meter.OpenAhead}}
	}
	ours := terms("Europe/Berlin", 15, 48*time.Hour, time.Minute)
	w.must(w.CheckTerms(t.Context(), ours))
	w.must(w.CheckTerms(t.Context(), terms("UTC", 1, time.Hour, 0))) // there are none
	for range 2 {
		w.must(w.KeepTerms(t.Context(), ours))
	}
	refused := func(other meterledger.Terms, want error) {
		t.Helper()
		for _, err := range []error{w.CheckTerms(t.Context(), other), w.KeepTerms(t.Context(), other)} {
			if !errors.Is(err, want) {
				t.Errorf("%+v: %v", other, err)
			}
		}
	}
	for _, other := range []meterledger.Terms{terms("UTC", 15, 48*time.Hour, time.Minute), terms("Europe/Berlin", 1, 48*time.Hour, time.Minute), {}} {
		refused(other, meterledger.ErrCalendar)
		if err := w.RenewTerms(t.Context(), other); !errors.Is(err, meterledger.ErrCalendar) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	longer := terms("Europe/Berlin", 15, 72*time.Hour, 0)
	refused(longer, meterledger.ErrHorizon)
	refused(terms("Europe/Berlin", 15, 48*time.Hour, time.Second), meterledger.ErrHorizon)
	w.must(w.CheckTerms(t.Context(), ours)) // nothing of what was refused was kept
	w.must(w.RenewTerms(t.Context(), longer))
	w.must(w.KeepTerms(t.Context(), longer))
	refused(ours, meterledger.ErrHorizon)
}
