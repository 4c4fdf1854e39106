package meterredis

import (
	"slices"

	"github.com/reprise-dev/reprise/meter"
)

// touched is what the last phase of a restore finds otherwise than the phases before have left it: what rows are of that no fold has taken in,
// and what was granted since. All else is in Redis already, and writing it again would be most of the work.
type touched struct {
	days            map[string][]meter.Day   // of lines
	lines, families map[string][]meter.Month // of lines, and of families
}

// Touch says that the phases before have written all but what rows and grants change. The rows are all those of the hydration's book, and the
// grants those of which some phase before may not have known: who is not known to be in Redis is among them.
func (h *Hydration) Touch(rows []meter.Row, grants []meter.Grant) {
	h.touched = &touched{map[string][]meter.Day{}, map[string][]meter.Month{}, map[string][]meter.Month{}}
	for _, row := range rows {
		line := row.Event.Line
		note(h.touched.days, line, row.Result.Day, h.days)
		note(h.touched.lines, line, row.Result.Month, h.months)
		note(h.touched.families, row.Result.Family, row.Result.Month, h.months)
	}
	for _, g := range grants {
		note(h.touched.lines, g.Line, g.Month, h.months)
		note(h.touched.families, g.Family, g.Month, h.months)
	}
}

// note notes a period of an owner, once, if there may be keys of it.
func note[P comparable](of map[string][]P, owner string, period P, all []P) {
	if owner != "" && !slices.Contains(of[owner], period) && slices.Contains(all, period) {
		of[owner] = append(of[owner], period)
	}
}

// daysOf are the days of which a line's counters are written.
func (h *Hydration) daysOf(line string) []meter.Day {
	if h.touched == nil {
		return h.days
	}
	return h.touched.days[line]
}

// monthsOf and monthsOfFamily are the months of which allowances are written.
func (h *Hydration) monthsOf(line string) []meter.Month {
	if h.touched == nil {
		return h.months
	}
	return h.touched.lines[line]
}

func (h *Hydration) monthsOfFamily(family string) []meter.Month {
	if h.touched == nil {
		return h.months
	}
	return h.touched.families[family]
}
