package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

// Report is what an audit has found.
type Report struct {
	Generation meter.Generation
	Units      int
	Lines      int
	// Events and Served are those of the done log in the months that are open.
	Events int64
	Served meter.Wide
	// Differences are what is not as the done log and the grants say.
	Differences []meterledger.Difference
	// Unflushed are units that changed all the time while they were looked at, or of which SQL does not have everything yet: nothing
	// is said about them.
	Unflushed []string
}

// Clean reports whether everything was compared, and is equal.
func (r Report) Clean() bool { return len(r.Differences)+len(r.Unflushed) == 0 }

// unitsInRange is how many units are audited at once.
const unitsInRange = 200

// Audit recomputes balances and counters from grants and the done log, and compares: totals and snapshots in SQL, and what is in
// Redis of the days and months whose events are accepted. It may run while events are decided: a unit is compared when
// SQL has exactly the changes that Redis has made, for which it waits up to patience. It changes nothing.
func (i *Inspector) Audit(ctx context.Context, now time.Time, patience time.Duration) (r Report, err error) {
	if i.Meter == nil {
		return r, fmt.Errorf("there is nothing to compare SQL with: %s", causeOf(i.Unopened).Detail)
	}
	if r.Generation, err = i.Ledger.Generation(ctx); err != nil {
		return r, err
	}
	if g := i.Meter.Generation(); g != r.Generation {
		r.Differences = []meterledger.Difference{{Where: "the generation in Redis", Is: fmt.Sprintf("%q", g), Should: fmt.Sprintf("%q, as the ledger believes: %s", r.Generation, hydrateNext)}}
		return r, nil
	}
	ranges, err := i.Ledger.Ranges(ctx, unitsInRange)
	if err != nil {
		return r, err
	}
	a := &auditing{Inspector: i, report: &r, days: i.Horizon.Days(i.Calendar, now), months: i.Horizon.Months(i.Calendar, now), now: now}
	var waiting []string
	for _, part := range ranges {
		late, err := a.compare(ctx, part, true)
		if err != nil {
			return r, err
		}
		waiting = append(waiting, late...)
	}
	r.Unflushed, err = a.patiently(ctx, waiting, patience)
	return r, err
}

// AuditRange is [Inspector.Audit] of some units.
func (i *Inspector) AuditRange(ctx context.Context, now time.Time, part meterledger.Range, patience time.Duration) (r Report, err error) {
	if i.Meter == nil {
		return r, fmt.Errorf("there is nothing to compare SQL with: %s", causeOf(i.Unopened).Detail)
	}
	if r.Generation, err = i.Ledger.Generation(ctx); err != nil {
		return r, err
	}
	a := &auditing{Inspector: i, report: &r, days: i.Horizon.Days(i.Calendar, now), months: i.Horizon.Months(i.Calendar, now), now: now}
	late, err := a.compare(ctx, part, true)
	if err != nil {
		return r, err
	}
	r.Unflushed, err = a.patiently(ctx, late, patience)
	return r, err
}

// auditing is an audit under way.
type auditing struct {
	*Inspector
	report *Report
	days   []meter.Day
	months []meter.Month
	now    time.Time
}

// patiently looks again at units that were under way.
func (a *auditing) patiently(ctx context.Context, waiting []string, patience time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for len(waiting) > 0 {
		select {
		case <-again.C:
		case <-ctx.Done():
			return waiting, context.Cause(ignoreDeadline(ctx))
		}
		var still []string
		for _, tag := range waiting {
			late, err := a.compare(context.WithoutCancel(ctx), meterledger.Unit(tag), false)
			if err != nil {
				return waiting, err
			}
			still = append(still, late...)
		}
		waiting = still
	}
	return nil, nil
}

// ignoreDeadline returns a context without error if the one that is given ended because its time was over.
func ignoreDeadline(ctx context.Context) context.Context {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// compare compares a range, and returns the units that were under way. What stands in SQL is reported and counted the first
// time.
func (a *auditing) compare(ctx context.Context, part meterledger.Range, first bool) (late []string, err error) {
	held, err := a.Ledger.Read(ctx, part, meterledger.Horizon{Month: a.months[0], Day: a.days[0]})
	if err != nil {
		return nil, err
	}
	should, err := a.Ledger.Audit(ctx, part)
	if err != nil {
		return nil, err
	}
	units := pipeline.UnitsOf(held)
	seen := make([]meterredis.Observed, len(units))
	for n, u := range units {
		if seen[n], err = a.Meter.Observe(ctx, u, a.days, a.months); err != nil {
			return nil, err
		}
	}
	before, generation := held.Changes, held.Source.Generation
	if a.Shadow {
		before, generation = nil, a.Meter.Generation() // in which SQL has no changes
	}
	after, err := a.Ledger.Changes(ctx, generation, owners(units))
	if err != nil {
		return nil, err
	}
	if first {
		a.count(units, should)
	}
	book := a.expected(held, should)
	for n, u := range units {
		c := comparison{auditing: a, members: u, before: before, after: after, seen: seen[n], book: book, generation: generation}
		if !c.compare() {
			late = append(late, c.tag())
		}
	}
	return late, nil
}

func (a *auditing) count(units []meterredis.Members, should meterledger.Audit) {
	r := a.report
	r.Differences = append(r.Differences, should.Differences()...)
	r.Units += len(units)
	ours := map[string]bool{}
	for _, u := range units {
		r.Lines += len(u.Lines)
		for _, line := range u.Lines {
			ours[line] = true
		}
	}
	for key, sums := range should.Months {
		if ours[key.Line] {
			r.Events += sums.All.Events
			r.Served = r.Served.Plus(sums.All.Individual).Plus(sums.All.Shared).Plus(sums.All.QoS)
		}
	}
}

// owners are all lines and families of units.
func owners(units []meterredis.Members) (tags []string) {
	for _, u := range units {
		if u.Family != "" {
			tags = append(tags, meter.UnitTag("", u.Family))
		}
		for _, line := range u.Lines {
			tags = append(tags, meter.UnitTag(line, ""))
		}
	}
	return tags
}
