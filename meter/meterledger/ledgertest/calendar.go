package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// The first calendar stays.
func testCalendar(t *testing.T, server Server) {
	w := emptyWorld(t, server)
	calendarOf := func(zone string, anchor int) meter.Calendar {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		c, err := meter.NewCalendar(location, anchor)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ours := calendarOf("Europe/Berlin", 15)
	w.must(w.CheckCalendar(t.Context(), ours))
	w.must(w.CheckCalendar(t.Context(), calendarOf("UTC", 1))) // there is none
	for range 2 {
		w.must(w.KeepCalendar(t.Context(), ours))
	}
	for _, other := range []meter.Calendar{calendarOf("UTC", 15), calendarOf("Europe/Berlin", 1), {}} {
		for _, err := range []error{w.CheckCalendar(t.Context(), other), w.KeepCalendar(t.Context(), other)} {
			if !errors.Is(err, meterledger.ErrCalendar) {
				t.Errorf("%v from day %d: %v", other.Zone(), other.Anchor(), err)
			}
		}
	}
	w.must(w.CheckCalendar(t.Context(), ours))
}
