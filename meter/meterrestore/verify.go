package meterrestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// Verification has targets beside the ranges of units. Their names are after those of all units.
const (
	otherGlobals = "~globals" // what every bucket has: policies, gate, fence, streams
	otherSweep   = "~sweep"   // keys that nobody expects
	otherEvents  = "~waiting" // events that were accepted and wait
)

// others are those targets, in the order of their names.
func others() []string { return []string{otherGlobals, otherSweep, otherEvents} }

// other reports whether a target is one of them.
func other(t restore.Target) bool { return strings.HasPrefix(t.From, "~") }

// verified are the targets of verification: ranges of units, of a sample some of them, and the others. The sweep takes longest and is
// begun first.
func (p *Plan) verified(ranges []restore.Target) (all []restore.Target) {
	for i, t := range ranges {
		if i == len(ranges)-1 {
			t.To = otherGlobals
		}
		if p.Sample == 0 || rand.Float64() < p.Sample {
			all = append(all, t)
		}
	}
	if p.Sample > 0 && len(all) == 0 && len(ranges) > 0 {
		all = append(all, restore.Target{From: ranges[0].From, To: ranges[0].To, Units: ranges[0].Units})
	}
	names := others()
	for i, name := range names {
		if p.Sample > 0 && name == otherSweep {
			continue
		}
		t := restore.Target{From: name, Units: 1, Priority: -1}
		if i < len(names)-1 {
			t.To = names[i+1]
		}
		all = append(all, t)
	}
	return all
}

// inspector looks at what the fence's generation has. In a session the gate is closed and all that was let through has ended.
func (p *Plan) inspector(ctx context.Context, fence restore.Fence) (*inspect.Inspector, error) {
	m, err := p.meterOf(ctx, fence)
	if err != nil {
		return nil, err
	}
	return &inspect.Inspector{Meter: m, Ledger: p.Ledger, Calendar: p.Calendar, Horizon: p.Horizon, Still: fence.Epoch > 0, Epoch: fence.Epoch}, nil
}

// Verify implements [restore.Plan].
func (p *Plan) Verify(ctx context.Context, target restore.Target, fence restore.Fence) (done restore.Done, findings []restore.Finding, err error) {
	i, err := p.inspector(ctx, fence)
	if err != nil {
		return done, nil, err
	}
	switch target.From {
	case otherGlobals:
		patience := p.Patience
		if i.Still {
			patience = 0
		}
		differences, err := i.Globals(ctx, patience)
		return restore.Done{Units: 1}, findingsOf(differences), err
	case otherSweep:
		findings, err := sweep(ctx, i)
		return restore.Done{Units: 1}, findings, err
	case otherEvents:
		if i.Still { // else it changes all the time
			findings, err = p.waiting(ctx, i.Meter)
		}
		return restore.Done{Units: 1}, findings, err
	}
	now, err := p.Ledger.Now(ctx)
	if err != nil {
		return done, nil, err
	}
	report, err := i.AuditRange(ctx, now, rangeOf(target), p.Patience)
	if err != nil {
		return done, nil, err
	}
	findings = findingsOf(report.Differences)
	for _, tag := range report.Unflushed {
		findings = append(findings, restore.Finding{Kind: "unit", Item: tag, Outcome: restore.Unflushed, Detail: "SQL does not have all that Redis has decided, or grants of it are on their way: nothing can be said, and nothing is corrected"})
	}
	for tag, why := range report.Unreadable {
		findings = append(findings, restore.Finding{Kind: "unit", Item: tag, Outcome: restore.Unreadable, Detail: why})
	}
	if i.Still && len(findings) > 0 {
		findings, err = p.quarantined(ctx, target, findings)
	}
	return restore.Done{Units: int64(report.Units)}, findings, err
}

// mostExtra is how many keys that nobody expects one sweep reports: what is found is held in memory. The next one finds the others.
const mostExtra = 100_000

func sweep(ctx context.Context, i *inspect.Inspector) (findings []restore.Finding, err error) {
	more := int64(0)
	_, err = i.Sweep(ctx, func(d inspect.Difference) {
		if len(findings) < mostExtra {
			findings = append(findings, findingOf(d))
		} else {
			more++
		}
	})
	if more > 0 {
		findings = append(findings, restore.Finding{Kind: "sweep", Item: "more keys", Outcome: restore.Skipped, Detail: fmt.Sprintf("%d more keys that nobody expects were found: verify again", more)})
	}
	return findings, err
}

func findingsOf(differences []inspect.Difference) (all []restore.Finding) {
	for _, d := range differences {
		all = append(all, findingOf(d))
	}
	return all
}

// findingOf says what a difference is to a session. Its item is the key, or the row in SQL.
func findingOf(d inspect.Difference) restore.Finding {
	f := restore.Finding{Kind: kindSQL, Item: d.Where, Outcome: restore.Different, Detail: fmt.Sprintf("is %s, should be %s", d.Is, d.Should)}
	if d.Key == "" {
		return f
	}
	f.Kind, f.Item = kindKey, d.Key
	switch d.Kind {
	case inspect.KindMissing:
		f.Outcome = restore.Missing
	case inspect.KindExtra:
		f.Outcome = restore.Extra
	default:
		f.Detail = d.Kind + ": " + f.Detail
	}
	return f
}

// The kinds of findings.
const (
	kindKey = "key" // a key in Redis
	kindSQL = "sql" // what cannot be put right in Redis
	// KindEvent is an event, or events of one place together.
	KindEvent = "event"
)

// quarantined tells apart what was found of units that cannot be restored: those stay closed, and keep nobody else out.
func (p *Plan) quarantined(ctx context.Context, target restore.Target, findings []restore.Finding) ([]restore.Finding, error) {
	now, err := p.Ledger.Now(ctx)
	if err != nil {
		return nil, err
	}
	held, err := p.read(ctx, rangeOf(target), now)
	if err != nil {
		return nil, err
	}
	if _, err := meter.Rebuild(held.Source); err == nil {
		return findings, nil
	}
	for _, tag := range sortedTags(pipeline.UnitsOf(held)) {
		alone, err := p.read(ctx, meterledger.Unit(tag), now)
		if err != nil {
			return nil, err
		}
		if _, bad := meter.Rebuild(alone.Source); bad != nil {
			for i, f := range findings {
				if ofUnit(f, tag, alone) {
					findings[i].Outcome, findings[i].Detail = restore.Quarantined, fmt.Sprintf("unit %s cannot be restored: %v; %s", tag, bad, f.Detail)
				}
			}
		}
	}
	return findings, nil
}

// ofUnit reports whether a finding is of a unit, one of its lines or its family.
func ofUnit(f restore.Finding, tag string, held meterledger.Holdings) bool {
	ids := []string{tag[2:]}
	for line := range held.Source.Members {
		ids = append(ids, line)
	}
	for _, id := range ids {
		for _, part := range strings.FieldsFunc(f.Item, func(r rune) bool { return r == ':' || r == ' ' || r == ',' }) {
			if part == id {
				return true
			}
		}
	}
	return f.Item == tag
}
