package meterrestore

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// Verification has targets beside the ranges of units. Their names are after those of all units.
const (
	otherGlobals = "~globals" // what every bucket has: policies, gate, fence, streams
	otherSweep   = "~sweep"   // keys that nobody expects
	otherEvents  = "~waiting" // events that were accepted and wait
)

// other reports whether a target is one of them.
func other(t restore.Target) bool { return strings.HasPrefix(t.From, "~") }

// sampled are those ranges that are to be verified, of a sample some of them; the same ones whenever they are listed.
func (p *Plan) sampled(ranges []restore.Target, last bool) (some []restore.Target) {
	if n := len(ranges); last && n > 0 {
		ranges[n-1].To = otherGlobals
	}
	for _, t := range ranges {
		if p.Sample == 0 || float64(maphash.String(p.seed, t.From)) < p.Sample*math.MaxUint64 {
			some = append(some, t)
		}
	}
	return some
}

// others are the targets from a name on that are no ranges. A sample leaves out the sweep, which takes longest.
func (p *Plan) others(from string, limit int) (some []restore.Target, last bool) {
	names := slices.DeleteFunc([]string{otherGlobals, otherSweep, otherEvents}, func(name string) bool {
		return name < from || name == otherSweep && p.Sample > 0
	})
	for i, name := range names {
		if len(some) == limit {
			return some, false
		}
		t := restore.Target{From: name, Units: 1, Priority: -1} // begun first
		if i < len(names)-1 {
			t.To = names[i+1]
		}
		some = append(some, t)
	}
	return some, true
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
		return restore.Done{Units: 1}, findingsOf(differences, nil), err
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
	findings, err = p.judged(ctx, report, rangeOf(target), now)
	return restore.Done{Units: int64(report.Units)}, findings, err
}

// judged are the findings of an audit of a range. Those of units that SQL contradicts itself about keep nobody else out.
func (p *Plan) judged(ctx context.Context, report inspect.Report, r meterledger.Range, now time.Time) ([]restore.Finding, error) {
	if report.Clean() {
		return nil, nil
	}
	bad, err := p.contradictions(ctx, r, now)
	if err != nil {
		return nil, err
	}
	findings := findingsOf(report.Differences, bad)
	add := func(tag string, outcome restore.Outcome, detail string) {
		findings = append(findings, bad.judge(tag, restore.Finding{Kind: "unit", Item: tag, Outcome: outcome, Detail: detail}))
	}
	for _, tag := range report.Unflushed {
		add(tag, restore.Unflushed, "SQL does not have all that Redis has decided, or grants of it are on their way: nothing can be said, and nothing is corrected")
	}
	for tag, why := range report.Unreadable {
		add(tag, restore.Unreadable, why)
	}
	return findings, nil
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

func findingsOf(differences []inspect.Difference, bad contradictions) (all []restore.Finding) {
	for _, d := range differences {
		all = append(all, bad.judge(d.Unit, findingOf(d)))
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
