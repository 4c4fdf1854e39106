package meter_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/meter"
)

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestDayBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, zone string
		day        meter.Day
		start, end string
	}{
		{"an ordinary day", "Europe/Berlin", 20260310, "2026-03-10T00:00:00+01:00", "2026-03-11T00:00:00+01:00"},
		{"23 hours", "Europe/Berlin", 20260329, "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"25 hours", "Europe/Berlin", 20261025, "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"half an hour's change", "Australia/Lord_Howe", 20260405, "2026-04-05T00:00:00+11:00", "2026-04-06T00:00:00+10:30"},
		{"no midnight", "Africa/Cairo", 20260424, "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"},
		{"the next has no midnight", "Africa/Cairo", 20260423, "2026-04-23T00:00:00+02:00", "2026-04-24T01:00:00+03:00"},
		{"the last hour twice", "Africa/Cairo", 20261029, "2026-10-29T00:00:00+03:00", "2026-10-30T00:00:00+02:00"},
		{"entered twice", "America/St_Johns", 20101107, "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"},
		{"left twice", "America/St_Johns", 20101106, "2010-11-06T00:00:00-02:30", "2010-11-07T00:00:00-03:30"},
		{"left out", "Pacific/Apia", 20111230, "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00"},
		{"before one that is left out", "Pacific/Apia", 20111229, "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"no changes at all", "UTC", 20260101, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"the last of all years", "Asia/Tokyo", 99981231, "9998-12-31T00:00:00+09:00", "9999-01-01T00:00:00+09:00"},
	} {
		start, end := calendarOf(t, c.zone, 1).DayBounds(c.day)
		if !start.Equal(instant(t, c.start)) || !end.Equal(instant(t, c.end)) {
			t.Errorf("%s (%s %v): %v to %v", c.what, c.zone, c.day, start.Format(time.RFC3339), end.Format(time.RFC3339))
		}
	}
}

// zones have every kind of change of clocks that there was since 1970.
var zones = [...]string{
	"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "America/St_Johns", "America/Havana", "Africa/Cairo", "Africa/Casablanca",
	"Asia/Beirut", "Asia/Kathmandu", "Asia/Tehran", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll",
}

// The last day of a leap year that follows a rule has its 24 hours, and so have its neighbours.
func TestLeapYearsEnd(t *testing.T) {
	t.Parallel()
	for _, zone := range zones {
		c := calendarOf(t, zone, 1)
		for _, year := range []int{2024, 2028, 2040, 2044, 2048} {
			for _, d := range []meter.Day{meter.Day(year*10000 + 1230), meter.Day(year*10000 + 1231), meter.Day((year+1)*10000 + 101), meter.Day((year+1)*10000 + 102)} {
				if start, end := c.DayBounds(d); end.Sub(start) != 24*time.Hour || c.Day(start) != d || c.Day(end) != d.Next() {
					t.Errorf("%s: %v is from %v to %v", zone, d, start.In(c.Zone()), end.In(c.Zone()))
				}
			}
		}
	}
}

// TestDaysHoldTheirInstants: an instant is within the bounds of its day and month, the instants at the bounds are in it, and
// those beyond are not.
func TestDaysHoldTheirInstants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := calendarOf(t, rapid.SampledFrom(zones[:]).Draw(r, "zone"), rapid.IntRange(1, 31).Draw(r, "anchor"))
		at := time.Unix(rapid.Int64Range(40e7, 25e8).Draw(r, "instant"), 0)
		day, month := c.Day(at), c.Month(at)
		if d, err := meter.ParseDay(day.String()); err != nil || d != day {
			r.Fatalf("%v is read as %v, %v", day, d, err)
		}
		if m, err := meter.ParseMonth(month.String()); err != nil || m != month {
			r.Fatalf("%v is read as %v, %v", month, m, err)
		}
		start, end := c.DayBounds(day)
		if at.Before(start) || !at.Before(end) {
			r.Fatalf("%v is in %v, which is from %v to %v", at, day, start, end)
		}
		if c.Day(start) != day || c.Day(end.Add(-1)) != day || c.Day(start.Add(-1)) >= day || c.Day(end) <= day {
			r.Fatalf("%v is from %v to %v", day, start.In(c.Zone()), end.In(c.Zone()))
		}
		start, end = c.MonthBounds(month)
		if c.Month(start) != month || c.Month(end.Add(-1)) != month || c.Month(start.Add(-1)) >= month || c.Month(end) <= month {
			r.Fatalf("%v is from %v to %v", month, start.In(c.Zone()), end.In(c.Zone()))
		}
		if day < c.FirstDay(month) || day > c.LastDay(month) || c.LastDay(month).Next() != c.FirstDay(month.Next()) {
			r.Fatalf("%v is in %v, from %v to %v", day, month, c.FirstDay(month), c.LastDay(month))
		}
		if day.Next().Previous() != day || month.Next().Previous() != month || day.Next() <= day || month.Next() <= month {
			r.Fatalf("%v or %v cannot be counted from", day, month)
		}
	})
}

func TestPeriodsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "2026", "202600", "202613", "196912", "1000001", "2026-3", "20263 ", "+20263", "２０２６０３", "20260301"} {
		if m, err := meter.ParseMonth(text); err == nil {
			t.Errorf("%q is read as the month %v", text, m)
		}
	}
	for _, text := range []string{"", "20260229", "20260431", "20260100", "20261301", "202603", "2026-3-1", "020260301", "19691231"} {
		if d, err := meter.ParseDay(text); err == nil {
			t.Errorf("%q is read as the day %v", text, d)
		}
	}
	for _, anchor := range []int{0, -1, 32} {
		if _, err := meter.NewCalendar(time.UTC, anchor); err == nil {
			t.Errorf("anchor %d was taken", anchor)
		}
	}
	if _, err := meter.NewCalendar(nil, 1); err == nil {
		t.Error("a calendar without a zone was made")
	}
	if c := (meter.Calendar{}); c.Zone() != time.UTC || c.Anchor() != 1 || c.Month(instant(t, "2026-03-01T00:00:00Z")) != 202603 {
		t.Error("the zero calendar is not that of UTC")
	}
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	c := calendarOf(t, "Europe/Berlin", 1)
	now := instant(t, "2026-03-29T23:00:00+02:00")
	h := meter.Horizon{Retention: 31 * 24 * time.Hour, Tolerance: 5 * time.Minute, Ahead: meter.OpenAhead}
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	// 48 hours before April it is open; an hour before that it was not.
	for at, want := range map[time.Time][]meter.Month{
		now:                     {202602, 202603},
		now.Add(time.Hour):      {202602, 202603, 202604},
		now.Add(24 * time.Hour): {202602, 202603, 202604},
	} {
		if got := h.Months(c, at); !slices.Equal(got, want) {
			t.Errorf("at %v months %v are to be open, want %v", at, got, want)
		}
	}
	for _, e := range []struct {
		at     time.Time
		reason meter.Reason
	}{
		{h.Oldest(now), ""}, {h.Oldest(now).Add(-time.Microsecond), meter.TooOld},
		{h.Latest(now), ""}, {h.Latest(now).Add(time.Microsecond), meter.InFuture},
	} {
		wantReason(t, h.Accepts(meter.Event{At: e.at}, now), e.reason)
	}
	for _, bad := range []meter.Horizon{
		{Retention: time.Minute, Ahead: meter.OpenAhead},
		{Retention: time.Hour, Tolerance: -1, Ahead: meter.OpenAhead},
		{Retention: time.Hour, Tolerance: 49 * time.Hour, Ahead: meter.OpenAhead},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
