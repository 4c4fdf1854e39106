package meter

import (
	"fmt"
	"time"
)

// OpenAhead is how long before it begins a month is opened.
const OpenAhead = 48 * time.Hour

// Horizon says which events are accepted, seen from a moment: how old and how far ahead they may be.
type Horizon struct {
	// Retention is how old an accepted event may be. What is needed to tell it from a repetition is kept
	// as long.
	Retention time.Duration
	// Tolerance is by how much the clock of whoever reports usage may be ahead.
	Tolerance time.Duration
	// Ahead is how long before it begins a month is opened: [OpenAhead].
	Ahead time.Duration
}

// Validate says what is wrong with the horizon.
func (h Horizon) Validate() error {
	switch {
	case h.Retention < time.Hour:
		return fmt.Errorf("a retention of %v is too short: events that arrive late would be refused; choose an hour or more", h.Retention)
	case h.Tolerance < 0:
		return fmt.Errorf("a tolerance of %v is negative: choose 0s or more", h.Tolerance)
	case h.Ahead < h.Tolerance:
		return fmt.Errorf("months are opened %v ahead, and events are accepted up to %v ahead: open them earlier, or accept less", h.Ahead, h.Tolerance)
	}
	return nil
}

// Oldest returns the instant of the oldest event that is accepted.
func (h Horizon) Oldest(now time.Time) time.Time { return now.Add(-h.Retention) }

// Latest returns the instant of the latest event that is accepted.
func (h Horizon) Latest(now time.Time) time.Time { return now.Add(h.Tolerance) }

// Accepts returns nil, or a [*Refusal] of an event that is too old or from the future.
func (h Horizon) Accepts(e Event, now time.Time) error {
	if oldest := h.Oldest(now); e.At.Before(oldest) {
		return refuse(TooOld, fieldAt, "%s is before %s, the oldest that is accepted: book it by hand, or lengthen the retention",
			stamp(e.At), stamp(oldest))
	}
	if latest := h.Latest(now); e.At.After(latest) {
		return refuse(InFuture, fieldAt, "%s is after %s, the latest that is accepted: set the clock of whoever reports, then send it again",
			stamp(e.At), stamp(latest))
	}
	return nil
}

// Remembered is how long an event's record is kept from its done row on: longer than the event itself is accepted, so that a second delivery finds
// it or is refused. Clocks differ by less than the day that it is longer.
func (h Horizon) Remembered() time.Duration { return h.Retention + h.Tolerance + 24*time.Hour }

// Months returns the months that have to be open: from that of the oldest event that is accepted to the one
// that will have begun Ahead from now.
func (h Horizon) Months(c Calendar, now time.Time) []Month {
	return c.Months(h.Oldest(now), now.Add(max(h.Ahead, h.Tolerance)))
}

// Due returns the first and the last of those months. Allowances of other months are in SQL alone: of earlier ones no event is accepted
// any more, and later ones are opened when their time has come.
func (h Horizon) Due(c Calendar, now time.Time) Span {
	months := h.Months(c, now)
	return Span{months[0], months[len(months)-1]}
}

// Span are months from First to Last, both included. The zero value is all of them.
type Span struct{ First, Last Month }

// Includes reports whether a month is one of them.
func (s Span) Includes(m Month) bool { return s == Span{} || s.First <= m && m <= s.Last }

// Days returns the days of which events are accepted.
func (h Horizon) Days(c Calendar, now time.Time) (days []Day) {
	last := c.Day(h.Latest(now))
	for d := c.Day(h.Oldest(now)); d <= last; d = d.Next() {
		days = append(days, d)
	}
	return days
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.999999Z") }
