package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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
	Differences []Difference
	// Unflushed are units that changed all the time while they were looked at, or of which SQL does not have everything yet: nothing
	// is said about them.
	Unflushed []string
	// Unreadable are units that Redis does not give out, with the reason.
	Unreadable map[string]string
	// Behind are lines of which SQL has more changes than Redis, with the number that Redis has. Ahead is how many changes of lines Redis
	// has of which SQL has no rows.
	Behind map[string]int64
	Ahead  int64
}

// Clean reports whether everything was compared, and is equal.
func (r Report) Clean() bool { return len(r.Differences)+len(r.Unflushed)+len(r.Unreadable) == 0 }

// ErrRedis is found in the error of an audit that Redis did not let come to its end, and not in that of one that SQL did not.
var ErrRedis = errors.New("this Redis cannot be read")

// unitsInRange is how many units are audited at once.
const unitsInRange = 200

// unitsAtOnce is how many units are read from Redis at the same time.
const unitsAtOnce = 16

// Audit recomputes balances and counters from grants and the done log, and compares: totals and snapshots in SQL, and what is in
// Redis of the days and months whose events are accepted, each key with its type, its fields and its expiry. It may run while events
// are decided: a unit is compared when SQL has exactly the changes that Redis has made, for which it waits up to patience, and what
// differs is looked at twice. It changes nothing.
func (i *Inspector) Audit(ctx context.Context, now time.Time, patience time.Duration) (r Report, err error) {
	if err := i.opened(); err != nil {
		return r, err
	}
	if r.Generation, err = i.Ledger.Generation(ctx); err != nil {
		return r, err
	}
	if g := i.Meter.Generation(); g != r.Generation {
		r.Differences = []Difference{{Difference: meterledger.Difference{Where: "the generation in Redis", Is: fmt.Sprintf("%q", g), Should: fmt.Sprintf("%q, as the ledger believes: %s", r.Generation, hydrateNext)}}}
		return r, nil
	}
	ranges, err := i.Ledger.Ranges(ctx, unitsInRange)
	if err != nil {
		return r, err
	}
	a := i.auditing(&r, now)
	var waiting []verdict
	for _, part := range ranges {
		late, err := a.first(ctx, part)
		if err != nil {
			return r, err
		}
		waiting = append(waiting, late...)
	}
	return r, a.patiently(ctx, waiting, patience)
}

// AuditRange is [Inspector.Audit] of some units.
func (i *Inspector) AuditRange(ctx context.Context, now time.Time, part meterledger.Range, patience time.Duration) (r Report, err error) {
	if err := i.opened(); err != nil {
		return r, err
	}
	if r.Generation, err = i.Ledger.Generation(ctx); err != nil {
		return r, err
	}
	a := i.auditing(&r, now)
	late, err := a.first(ctx, part)
	if err != nil {
		return r, err
	}
	return r, a.patiently(ctx, late, patience)
}

// Look compares one unit once, and returns what differs; ok is false if nothing can be said of it at the moment.
func (i *Inspector) Look(ctx context.Context, now time.Time, tag string) (found []Difference, ok bool, err error) {
	if err := i.opened(); err != nil {
		return nil, false, err
	}
	a := i.auditing(&Report{}, now)
	verdicts, err := a.compare(ctx, meterledger.Unit(tag), false)
	for _, v := range verdicts {
		if v.tag == tag {
			return v.differences, !v.late, err
		}
	}
	return nil, false, err
}

func (i *Inspector) opened() error {
	if i.Meter == nil {
		return fmt.Errorf("there is nothing to compare SQL with: %s", causeOf(i.Unopened).Detail)
	}
	return nil
}

// auditing is an audit under way.
type auditing struct {
	*Inspector
	report *Report
	days   []meter.Day
	months []meter.Month
	now    time.Time
}

func (i *Inspector) auditing(r *Report, now time.Time) *auditing {
	r.Unreadable, r.Behind = map[string]string{}, map[string]int64{}
	return &auditing{Inspector: i, report: r, days: i.Horizon.Days(i.Calendar, now), months: i.Horizon.Months(i.Calendar, now), now: now}
}

// first compares a range for the first time, and returns what is to be looked at again: where nothing decides, nothing.
func (a *auditing) first(ctx context.Context, part meterledger.Range) (again []verdict, err error) {
	verdicts, err := a.compare(ctx, part, true)
	for looks := 1; err == nil && a.Still && looks < stillLooks && unsettled(verdicts, nil); looks++ {
		before := verdicts
		if verdicts, err = a.compare(ctx, part, false); !unsettled(verdicts, before) {
			break
		}
	}
	for _, v := range verdicts {
		switch {
		case a.still():
			a.settle(v)
		case v.late || len(v.differences) > 0:
			again = append(again, v)
		}
	}
	return again, err
}

// stillLooks is how often a range that differs is looked at where nothing decides. Grants are rows first, and lines are added and policies changed, also
// meanwhile: what SQL says is read in more than one look at it, and then Redis is.
const stillLooks = 3

// unsettled reports whether something differs that did not in the same way before.
func unsettled(verdicts, before []verdict) bool {
	return slices.ContainsFunc(verdicts, func(v verdict) bool {
		return len(v.differences) > 0 && !slices.ContainsFunc(before, func(o verdict) bool { return o.tag == v.tag && o.same(v) })
	})
}

// settle reports what was found.
func (a *auditing) settle(v verdict) {
	maps.Copy(a.report.Behind, v.behind)
	a.report.Ahead += v.ahead
	if v.late {
		a.report.Unflushed = append(a.report.Unflushed, v.tag)
		return
	}
	for _, d := range v.differences {
		d.Unit = v.tag
		a.report.Differences = append(a.report.Differences, d)
	}
}

// lookAgain is how long to wait before a unit is looked at again.
const lookAgain = 100 * time.Millisecond

// patiently looks again at units that were under way or differed. What differs twice in the same way is reported, unless it may go away by
// itself; the others are looked at until the patience ends.
func (a *auditing) patiently(ctx context.Context, waiting []verdict, patience time.Duration) error {
	until := time.Now().Add(patience)
	for len(waiting) > 0 {
		timer := time.NewTimer(lookAgain)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		over := time.Now().After(until)
		var still []verdict
		for _, before := range waiting {
			found, err := a.compare(ctx, meterledger.Unit(before.tag), false)
			if err != nil {
				return err
			}
			for _, v := range found {
				switch {
				case !v.late && len(v.differences) == 0:
				case over, v.same(before) && !v.late && !v.passing():
					a.settle(v)
				default:
					still = append(still, v)
				}
			}
		}
		waiting = still
	}
	return nil
}

// compare compares a range, unit by unit. What stands in SQL is reported and counted the first time.
func (a *auditing) compare(ctx context.Context, part meterledger.Range, first bool) ([]verdict, error) {
	parts := meterledger.PartGrants | meterledger.PartPolicies
	if !a.still() {
		parts |= meterledger.PartChanges // else nothing changes between two looks
	}
	held, err := a.Ledger.ReadParts(ctx, part, pipeline.Reach(a.Calendar, a.Horizon, a.now), parts)
	if err != nil {
		return nil, err
	}
	should, err := a.Ledger.Audit(ctx, part)
	if err != nil {
		return nil, err
	}
	units, e := pipeline.UnitsOf(held), a.expected(held, should)
	looks := make([]*comparison, len(units))
	failures := make([]error, len(units))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(unitsAtOnce)
	for n, u := range units {
		looks[n] = &comparison{expected: e, members: u, keys: a.Meter.KeysOf(u), before: held.Changes, generation: held.Source.Generation}
		group.Go(func() error {
			err := looks[n].look(inner)
			if denied := a.Still && meterredis.Refused(err); errors.Is(err, meterredis.ErrUnreadable) && !denied { // in a session it says nothing of the unit
				failures[n], err = err, nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRedis, err)
	}
	return a.judge(ctx, e, looks, failures, should, first)
}

// judge says what is to be said of units that were looked at.
func (a *auditing) judge(ctx context.Context, e *expected, looks []*comparison, failures []error, should meterledger.Audit, first bool) (verdicts []verdict, err error) {
	generation := e.held.Source.Generation
	if a.Shadow {
		generation = a.Meter.Generation() // in which SQL has no changes
	}
	units := make([]meterredis.Members, len(looks))
	for n, c := range looks {
		units[n] = c.members
	}
	after, err := a.Ledger.Changes(ctx, generation, owners(units), a.Horizon.Due(a.Calendar, a.now))
	if err != nil {
		return nil, err
	}
	if first {
		a.count(units, should, e.held.Source.Members)
	}
	for n, c := range looks {
		c.after, c.generation = after, generation
		if failures[n] != nil {
			a.report.Unreadable[c.keys.Tag()] = failures[n].Error()
			continue
		}
		verdicts = append(verdicts, c.judge())
	}
	return verdicts, nil
}

// count counts units, and reports what in SQL alone does not fit together. members are the lines of these units, with their families.
func (a *auditing) count(units []meterredis.Members, should meterledger.Audit, members map[string]string) {
	r := a.report
	for _, d := range should.Differences() {
		r.Differences = append(r.Differences, Difference{Difference: d, Unit: unitOf(d, members)})
	}
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

// unitOf is the unit that a row in SQL is of: that of its line, or that of its family if the line is of another unit by now.
func unitOf(d meterledger.Difference, members map[string]string) string {
	if family, ours := members[d.Line]; ours {
		return meter.UnitTag(d.Line, family)
	}
	return meter.UnitTag("", d.Family)
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
