package meter

import (
	"errors"
	"fmt"
	"time"
)

// Calendar tells which day and which month an instant is in. The zero Calendar is that of UTC, with months
// that begin on the 1st.
type Calendar struct {
	zone   *time.Location
	anchor int
}

// NewCalendar returns the calendar of a time zone whose billing months begin on a day of the month, the anchor,
// from 1 to 31. In a month that is shorter they begin on its last day.
func NewCalendar(zone *time.Location, anchor int) (Calendar, error) {
	switch {
	case zone == nil:
		return Calendar{}, errors.New("the calendar has no time zone: name one, such as Europe/Berlin or UTC")
	case anchor < 1 || anchor > 31:
		return Calendar{}, fmt.Errorf("billing months cannot begin on day %d: choose one from 1 to 31", anchor)
	}
	return Calendar{zone, anchor}, nil
}

// Zone returns the time zone.
func (c Calendar) Zone() *time.Location {
	if c.zone == nil {
		return time.UTC
	}
	return c.zone
}

// Anchor returns the day on which billing months begin.
func (c Calendar) Anchor() int { return max(c.anchor, 1) }

// Day returns the date that the clocks of the zone show.
func (c Calendar) Day(at time.Time) Day { return dayOf(at.In(c.Zone()).Date()) }

// Month returns the billing month of an instant: that of its day.
func (c Calendar) Month(at time.Time) Month { return c.MonthOf(c.Day(at)) }

// MonthOf returns the billing month that a day is in.
func (c Calendar) MonthOf(d Day) Month {
	m := Month(d / 100)
	if d < c.FirstDay(m) {
		return m.Previous()
	}
	return m
}

// FirstDay returns the day on which a month begins.
func (c Calendar) FirstDay(m Month) Day { return Day(int(m)*100 + min(c.Anchor(), m.length())) }

// LastDay returns the last day of a month.
func (c Calendar) LastDay(m Month) Day { return c.FirstDay(m.Next()).Previous() }

// minuteOf returns what the clocks of the zone show, in minutes since they showed 00:00.
func (c Calendar) minuteOf(at time.Time) int {
	hour, minute, _ := at.In(c.Zone()).Clock()
	return hour*60 + minute
}

// DayBounds returns the first instant of a day, and the first one after its last. Between them are 24 hours on most days,
// and 23 or 25 where clocks are changed. A day whose midnight the clocks leave out begins when they go on.
// Where clocks are put back over midnight, a day is entered twice, and its bounds overlap with its neighbour's.
// A day that a zone left out altogether begins and ends where it would have been.
func (c Calendar) DayBounds(d Day) (start, end time.Time) {
	const margin = 36 * time.Hour // no two clocks on earth are further apart
	from, to := d.midnight(0), d.midnight(1)
	for at := from.Add(-margin); ; {
		local := at.In(c.Zone())
		_, offset := local.Zone()
		begins, ends := zoneBounds(local)
		shift := -time.Duration(offset) * time.Second
		first, last := from.Add(shift), to.Add(shift)
		if first.Before(begins) {
			first = begins
		}
		if !ends.IsZero() && last.After(ends) {
			last = ends
		}
		if first.Before(last) {
			if start.IsZero() {
				start = first
			}
			end = last
		} else if start.IsZero() && !begins.IsZero() && c.Day(begins) > d {
			return begins, begins
		}
		if ends.IsZero() || ends.After(to.Add(margin)) {
			return start, end
		}
		at = ends
	}
}

// zoneBounds returns the bounds of the offset that a zone has at an instant, which is within them. Those of package time are not on
// the last day of a leap year, where a zone follows a rule: the year ends a day too early there (seen with Go 1.26).
func zoneBounds(at time.Time) (begins, ends time.Time) {
	begins, ends = at.ZoneBounds()
	if !ends.IsZero() && !ends.After(at) {
		ends = at.Add(time.Hour)
	}
	if begins.After(at) {
		begins = at
	}
	return begins, ends
}

// MonthBounds returns the first instant of a month, and the first one after its last.
func (c Calendar) MonthBounds(m Month) (start, end time.Time) {
	start, _ = c.DayBounds(c.FirstDay(m))
	_, end = c.DayBounds(c.LastDay(m))
	return start, end
}

// Months returns the months from that of one instant to that of another, in order.
func (c Calendar) Months(from, to time.Time) []Month {
	var months []Month
	for m, last := c.Month(from), c.Month(to); m <= last; m = m.Next() {
		months = append(months, m)
	}
	return months
}
