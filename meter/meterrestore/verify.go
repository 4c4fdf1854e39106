package meterrestore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// inspector looks at what the fence's generation has. In a session the gate is closed and all that was let through has ended.
func (p *Plan) inspector(ctx context.Context, fence restore.Fence) (*inspect.Inspector, error) {
	m, err := p.meterOf(ctx, fence)
	if err != nil {
		return nil, err
	}
	return &inspect.Inspector{Meter: m, Ledger: p.Ledger, Calendar: p.Calendar, Horizon: p.Horizon, Still: fence.Epoch > 0, Epoch: fence.Epoch}, nil
}

// Verify implements [restore.Plan]. A look reads, and nothing that it reads compares a generation: whether it was of the fence's is asked
// after it. None comes back, so it was of no other in between.
func (p *Plan) Verify(ctx context.Context, target restore.Target, fence restore.Fence) (done restore.Done, findings []restore.Finding, err error) {
	defer refused(&err)
	i, err := p.inspector(ctx, fence)
	if err != nil {
		return done, nil, err
	}
	if done, findings, err = p.look(ctx, i, target); err == nil {
		err = unchanged(ctx, i.Meter, fence)
	}
	if err != nil {
		return restore.Done{}, nil, fenced(err, store.ErrLost)
	}
	return done, findings, nil
}

// unchanged returns an error if Redis has another generation by now than the fence's.
func unchanged(ctx context.Context, m *meterredis.Meter, fence restore.Fence) error {
	g, err := m.Reread(ctx)
	if err == nil && g != meter.Generation(fence.Generation) {
		err = fmt.Errorf("%w: Redis has generation %q, and not %q", restore.ErrFenced, g, fence.Generation)
	}
	return err
}

// look compares a target with SQL.
func (p *Plan) look(ctx context.Context, i *inspect.Inspector, target restore.Target) (done restore.Done, findings []restore.Finding, err error) {
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
