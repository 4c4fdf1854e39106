package meterrestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// partsOf is what has to be read for what a phase adds to the one before.
func partsOf(phase meter.Phase) meterledger.Parts {
	const allowances = meterledger.PartGrants | meterledger.PartSnapshots | meterledger.PartPolicies
	switch phase {
	case meter.PhaseHydrated:
		return allowances
	case meter.PhaseTotals:
		return meterledger.PartTotals
	}
	return allowances | meterledger.PartRows | meterledger.PartRowTotals
}

// partsOfWhole is what has to be read for all that a unit has in a phase.
const partsOfWhole = meterledger.PartGrants | meterledger.PartSnapshots | meterledger.PartTotals | meterledger.PartRows | meterledger.PartPolicies

// phaseWriter writes a phase of a range of units: what the phase adds to the one before. A unit that the phase before has not left as it is
// in SQL now, because a line was added since, is written whole.
type phaseWriter struct {
	*Plan
	meter   *meterredis.Meter
	through meter.Phase
	now     time.Time
	// epoch is that of the fence, as digits; empty in a shadow, which has none.
	epoch string
	// believed is the generation that SQL has to have; empty is any.
	believed meter.Generation
}

// written is what became of a range.
type written struct {
	restore.Done
	grants []meterledger.GrantRow // of which the balances were made
}

// write writes the range.
func (w *phaseWriter) write(ctx context.Context, r meterledger.Range) (done written, err error) {
	held, err := w.read(ctx, r, partsOf(w.through))
	if err != nil {
		return done, err
	}
	late, err := w.units(ctx, held, pipeline.UnitsOf(held), false, &done)
	if err != nil || len(late) == 0 {
		return done, err
	}
	if held, err = w.read(ctx, r, partsOfWhole); err != nil {
		return done, err
	}
	units := slices.DeleteFunc(pipeline.UnitsOf(held), func(u meterredis.Members) bool { return !late[tagOf(u)] })
	_, err = w.units(ctx, held, units, true, &done)
	return done, err
}

func (w *phaseWriter) read(ctx context.Context, r meterledger.Range, parts meterledger.Parts) (held meterledger.Holdings, err error) {
	held, err = w.Ledger.ReadParts(ctx, r, pipeline.Reach(w.Calendar, w.Horizon, w.now), parts)
	if g := held.Source.Generation; err == nil && w.believed != "" && g != w.believed {
		err = fmt.Errorf("%w: the ledger believes generation %q", restore.ErrFenced, g)
	}
	return held, err
}

// writesAtOnce is how many units of a range are written at the same time: they share round trips.
const writesAtOnce = 32

// units writes units, whole or what the phase adds, and returns those that have to be written whole.
func (w *phaseWriter) units(ctx context.Context, held meterledger.Holdings, units []meterredis.Members, whole bool, done *written) (late map[string]bool, err error) {
	book, err := meter.RebuildThrough(held.Source, w.through)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", restore.ErrBadUnit, err)
	}
	h := meterredis.NewHydration(book, held.Policies.Lines, w.Horizon.Days(w.Calendar, w.now), w.Horizon.Months(w.Calendar, w.now), w.now.Add(w.Horizon.Tolerance))
	write := w.meter.WritePhase
	if !whole {
		write = w.meter.AddPhase
		if w.through == meter.PhaseRows {
			h.Touch(held.Source.Rows, unconfirmed(held.Grants))
		}
	}
	late, ours := map[string]bool{}, map[string]bool{}
	var mu sync.Mutex
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(writesAtOnce)
	for _, unit := range units {
		ours[tagOf(unit)] = true
		group.Go(func() error {
			err := write(inner, unit, h, w.through, w.epoch)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, meterredis.ErrNotBefore):
				late[tagOf(unit)] = true
			case errors.Is(err, meterredis.ErrComplete):
				done.Skipped++
			case err != nil:
				return err
			default:
				done.Units++
			}
			return nil
		})
	}
	err = group.Wait()
	counts := meter.Counted(held.Source.Grants)
	for _, g := range held.Grants {
		if tag := unitOf(held, g); ours[tag] && !late[tag] && counts(g.Grant) {
			done.grants = append(done.grants, g)
		}
	}
	return late, err
}

// unconfirmed are the grants that the phases before may not have counted: a grant that was known to be in Redis when the gate was closed was in
// SQL before the first of them, and nothing but the last phase confirms one since.
func unconfirmed(rows []meterledger.GrantRow) (grants []meter.Grant) {
	for _, g := range rows {
		if !g.Confirmed() {
			grants = append(grants, g.Grant)
		}
	}
	return grants
}

// unitOf is the unit that a grant is of.
func unitOf(held meterledger.Holdings, g meterledger.GrantRow) string {
	family := g.Family
	if g.Line != "" {
		family = held.Source.Members[g.Line]
	}
	return meter.UnitTag(g.Line, family)
}

// tagOf is the name of a unit.
func tagOf(u meterredis.Members) string {
	if u.Family != "" {
		return meter.UnitTag("", u.Family)
	}
	return meter.UnitTag(u.Lines[0], "")
}
