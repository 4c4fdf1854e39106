package meterrestore

import (
	"context"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// Expect implements [restore.Plan].
func (p *Plan) Expect(ctx context.Context, phase int) (int64, error) {
	counts, err := p.Ledger.Counts(ctx)
	units := counts.Families + counts.LoneLines
	if phase == len(phases()) {
		others, _ := p.others("", math.MaxInt)
		units += int64(len(others))
	}
	return units, err
}

// Targets implements [restore.Plan]. Ranges are made of what is in the ledger now: units that are added later are in the range of
// their name.
func (p *Plan) Targets(ctx context.Context, phase int, after string, limit int) (targets []restore.Target, last bool, err error) {
	verifying := phase == len(phases())
	if verifying && other(restore.Target{From: after}) {
		targets, last = p.others(after, limit)
		return targets, last, nil
	}
	var first []restore.Target // of a sample that has no other
	for from := after; ; {
		ranges, err := p.Ledger.RangesFrom(ctx, from, unitsInTarget, limit)
		if err != nil {
			return nil, false, err
		}
		if from = ranges[len(ranges)-1].To; !verifying {
			return targetsOf(ranges), from == "", nil
		}
		all := targetsOf(ranges)
		if first == nil {
			first = all[:min(1, len(all))]
		}
		targets := p.sampled(all, from == "")
		switch {
		case len(targets) > 0:
			return targets, false, nil
		case from == "" && after == "" && len(first) > 0:
			return first, false, nil
		case from == "":
			targets, last = p.others("", limit)
			return targets, last, nil
		}
	}
}

// targetsOf are the targets of ranges in which there is something.
func targetsOf(ranges []meterledger.Range) (targets []restore.Target) {
	for _, r := range ranges {
		if r.Units > 0 {
			targets = append(targets, restore.Target{From: r.From, To: r.To, Units: int64(r.Units)})
		}
	}
	return targets
}

func rangeOf(t restore.Target) meterledger.Range {
	return meterledger.Range{From: t.From, To: t.To, Units: int(t.Units)}
}

// Split implements [restore.Plan].
func (p *Plan) Split(ctx context.Context, _ int, target restore.Target) ([]restore.Target, error) {
	if other(target) {
		return nil, nil
	}
	held, err := p.read(ctx, rangeOf(target), time.Now())
	if err != nil {
		return nil, err
	}
	units := pipeline.UnitsOf(held)
	if len(units) < 2 {
		return nil, nil
	}
	var parts []restore.Target
	for _, tag := range sortedTags(units) {
		r := meterledger.Unit(tag)
		parts = append(parts, restore.Target{From: r.From, To: r.To, Units: 1})
	}
	return parts, nil
}

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
