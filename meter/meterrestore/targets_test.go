package meterrestore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// Targets follow each other and leave out nothing, however many are listed at once, also while units are added between two pages. A
// sample has some of the ranges, at least one, and what is no range but the sweep.
func TestTargets(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		ctx := t.Context()
		ledger, err := meterledger.Open(ctx, dsn, meterledger.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer ledger.Close()
		added := 0
		add := func(names ...string) {
			var lines []meterledger.Line
			for _, name := range names {
				lines = append(lines, meterledger.Line{ID: name})
			}
			if err := ledger.Import(ctx, []meterledger.Family{{ID: names[0]}}, lines, nil); err != nil {
				t.Fatal(err)
			}
			added += len(lines) + 1
		}
		plan := New(Options{Ledger: ledger})
		others := []string{otherGlobals, otherSweep, otherEvents}
		list := func(phase, limit int, between func(page int)) (all []restore.Target) {
			t.Helper()
			for last, after := false, ""; !last; {
				var targets []restore.Target
				if targets, last, err = plan.Targets(ctx, phase, after, limit); err != nil || len(targets) > limit || len(targets) == 0 && !last {
					t.Fatalf("%d targets of %d, %v", len(targets), limit, err)
				}
				all = append(all, targets...)
				if len(all) > 0 {
					after = all[len(all)-1].To
				}
				between(len(all))
			}
			return all
		}
		calm := func(int) {}
		if got := list(0, 5, calm); len(got) > 0 {
			t.Errorf("of nothing there are the targets %v", got)
		}
		if got := list(len(phases()), 2, calm); len(got) != len(others) {
			t.Errorf("of nothing is verified %v", got)
		}
		var names []string
		for i := range 5*unitsInTarget - 1 {
			names = append(names, fmt.Sprintf("m-%04d", i))
		}
		add(names...)
		for phase := range len(phases()) + 1 {
			for _, limit := range []int{1, 2, 1000} {
				got := list(phase, limit, func(page int) {
					add(fmt.Sprintf("a-%d-%d-%d", phase, limit, page), fmt.Sprintf("z-%d-%d-%d", phase, limit, page))
				})
				end := ""
				if phase == len(phases()) {
					end = otherGlobals
				}
				ranges := slices.DeleteFunc(slices.Clone(got), other)
				for i, r := range ranges {
					if i > 0 && r.From != ranges[i-1].To || r.Units > unitsInTarget {
						t.Errorf("after %v comes %v", ranges[i-1], r)
					}
				}
				if len(ranges) < 5 || ranges[0].From != "" || ranges[len(ranges)-1].To != end || end != "" && len(got) != len(ranges)+len(others) {
					t.Errorf("phase %d, %d at once: %v", phase, limit, got)
				}
			}
		}
		for _, sample := range []float64{0.5, 1e-9} {
			plan.Sample = sample
			one, all := list(len(phases()), 1, calm), list(len(phases()), 1000, calm)
			if n := len(all) - 2; !slices.Equal(one, all) || n < 1 || sample < 0.1 && n > 1 || slices.ContainsFunc(all, func(t restore.Target) bool { return t.From == otherSweep }) {
				t.Errorf("a sample of %v: %v, and one at a time %v", sample, all, one)
			}
		}
	})
}
