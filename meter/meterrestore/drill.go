package meterrestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Drilled is what a drill has measured.
type Drilled struct {
	Units int
	// Phases is how long the three phases took together, and Verify how long it took to compare everything. Their sum is what a restore
	// would take, beside closing, draining and opening the gate.
	Phases, Verify time.Duration
	// Differences are what is not as SQL says. While events are decided, SQL goes on in between, and that shows here too.
	Differences []string
	// Keys is how many keys the shadow had, which is gone.
	Keys int
}

// Drill restores everything into a shadow in the same Redis, verifies it, and removes it. What lives is not touched. It takes as long as
// a restore, and as much of Redis' memory again.
func (p *Plan) Drill(ctx context.Context) (done Drilled, err error) {
	options := meterredis.Options{Calendar: p.Calendar, Horizon: p.Horizon}
	m, err := meterredis.OpenShadow(ctx, p.Redis, options, p.Who, p.Log)
	if err != nil {
		return done, err
	}
	defer func() {
		// Also of a drill that was stopped, or failed, nothing stays.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		var failure error
		done.Keys, failure = m.Remove(clean)
		err = errors.Join(err, failure, m.Close())
	}()
	ranges, err := p.Ledger.Ranges(ctx, unitsInTarget)
	if err != nil {
		return done, err
	}
	started := time.Now()
	for _, through := range phases() {
		if err := p.drillPhase(ctx, m, ranges, through); err != nil {
			return done, err
		}
	}
	done.Phases = time.Since(started)
	started = time.Now()
	i := &inspect.Inspector{Meter: m, Ledger: p.Ledger, Calendar: p.Calendar, Horizon: p.Horizon, Shadow: true}
	for _, r := range ranges {
		report, err := i.AuditRange(ctx, time.Now(), r, p.Patience)
		if err != nil {
			return done, err
		}
		done.Units += report.Units
		for _, d := range report.Differences {
			done.Differences = append(done.Differences, d.String())
		}
		for tag, why := range report.Unreadable {
			done.Differences = append(done.Differences, fmt.Sprintf("unit %s: %s", tag, why))
		}
	}
	done.Verify = time.Since(started)
	return done, nil
}

// drillPhase writes a phase of all ranges, some at once.
func (p *Plan) drillPhase(ctx context.Context, m *meterredis.Meter, ranges []meterledger.Range, through meter.Phase) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, r := range ranges {
		group.Go(func() error {
			w := &phaseWriter{Plan: p, meter: m, through: through, now: time.Now()}
			_, err := w.write(ctx, r)
			return err
		})
	}
	return group.Wait()
}
