package meterrestore

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// Drilled is what a drill has measured.
type Drilled struct {
	Units int
	// Phases is how long the three phases took together, and Verify how long it took to compare everything. Their sum is what a restore
	// would take, beside closing, draining and opening the gate.
	Phases, Verify time.Duration
	// Findings are what is not as SQL says. While events are decided, SQL goes on in between, and that shows here too. What a unit has that SQL
	// contradicts itself about is quarantined, as it would be by a restore.
	Findings []restore.Finding
	// Keys is how many keys the shadow had, which is gone.
	Keys int
}

// Drill restores everything into a shadow in the same Redis, verifies it, and removes it. What lives is not touched. It takes as long as
// a restore, and as much of Redis' memory again.
func (p *Plan) Drill(ctx context.Context) (done Drilled, err error) {
	if err := waited(p.rights(ctx, true)); err != nil {
		return done, err
	}
	if _, err := meterredis.SweepShadows(ctx, p.Redis, p.Log); err != nil { // or there may be no room for another one
		return done, err
	}
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
	err = p.keptDrill(ctx, m, &done)
	return done, err
}

// keptDrill drills in a shadow that is kept meanwhile. Of one that was lost, what was found says nothing.
func (p *Plan) keptDrill(ctx context.Context, m *meterredis.Shadow, done *Drilled) error {
	ctx, stop := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		stop(m.Keep(ctx))
	}()
	err := p.drill(ctx, m.Meter, done)
	if err == nil {
		err = m.Held(ctx)
	}
	stop(nil)
	<-kept
	if cause := context.Cause(ctx); errors.Is(cause, meterredis.ErrShadowLost) {
		err = cause
	}
	return err
}

// drill writes everything into a shadow, and verifies it.
func (p *Plan) drill(ctx context.Context, m *meterredis.Meter, done *Drilled) error {
	ranges, err := p.Ledger.Ranges(ctx, unitsInTarget)
	if err != nil {
		return err
	}
	started := time.Now()
	for _, through := range phases() {
		if err := p.drillPhase(ctx, m, ranges, through); err != nil {
			return err
		}
	}
	done.Phases = time.Since(started)
	started = time.Now()
	i := &inspect.Inspector{Meter: m, Ledger: p.Ledger, Calendar: p.Calendar, Horizon: p.Horizon, Shadow: true}
	for _, r := range ranges {
		now := time.Now()
		report, err := i.AuditRange(ctx, now, r, p.Patience)
		if err != nil {
			return err
		}
		findings, err := p.judged(ctx, report, r, now)
		if err != nil {
			return err
		}
		done.Units += report.Units
		done.Findings = append(done.Findings, findings...)
	}
	done.Verify = time.Since(started)
	return nil
}

// drillPhase writes a phase of all ranges, some at once.
func (p *Plan) drillPhase(ctx context.Context, m *meterredis.Meter, ranges []meterledger.Range, through meter.Phase) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, r := range ranges {
		group.Go(func() error {
			w := &phaseWriter{Plan: p, meter: m, through: through, now: time.Now()}
			_, err := w.write(ctx, r)
			if errors.Is(err, restore.ErrBadUnit) {
				return p.drillAlone(ctx, w, r)
			}
			return err
		})
	}
	return group.Wait()
}

// drillAlone writes a phase of each unit of a range alone, but for those that cannot be restored.
func (p *Plan) drillAlone(ctx context.Context, w *phaseWriter, r meterledger.Range) error {
	held, err := p.read(ctx, r, w.now)
	if err != nil {
		return err
	}
	for _, tag := range sortedTags(pipeline.UnitsOf(held)) {
		if _, err := w.write(ctx, meterledger.Unit(tag)); err != nil && !errors.Is(err, restore.ErrBadUnit) {
			return err
		}
	}
	return nil
}

// makeRoom removes what drills have left that were killed, as far as it comes before the context ends: what is written next needs the memory. A Redis
// that is another installation's is left alone.
func (p *Plan) makeRoom(ctx context.Context) {
	err := p.own(ctx)
	removed := 0
	if err == nil {
		removed, err = meterredis.SweepShadows(ctx, p.Redis, p.Log)
	}
	switch {
	case p.Log == nil:
	case err != nil:
		p.Log.Info("whether drills have left something that were killed was not found out: the next drill looks again", "keys_removed", removed, "error", err)
	case removed > 0:
		p.Log.Info("what a drill had left that was killed is removed", "keys_removed", removed)
	}
}
