package inspect

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

// State is what Redis holds of all units, as one digest: two equal states have the same one, whatever their generation.
type State struct {
	Generation meter.Generation
	Units      int
	// Keys is how many there are of each family of keys.
	Keys map[string]int
	// Digest is SHA-256 over all keys and their values, in order.
	Digest [sha256.Size]byte
}

// Digest reads all units and makes their digest. While events are decided it is one of different moments.
func (i *Inspector) Digest(ctx context.Context, now time.Time) (s State, err error) {
	ranges, err := i.Ledger.Ranges(ctx, unitsInRange)
	if err != nil {
		return s, err
	}
	s.Generation, s.Keys = i.Meter.Generation(), map[string]int{}
	sum := sha256.New()
	days, months := i.Horizon.Days(i.Calendar, now), i.Horizon.Months(i.Calendar, now)
	for _, part := range ranges {
		held, err := i.Ledger.ReadParts(ctx, part, meterledger.Horizon{}, 0)
		if err != nil {
			return s, err
		}
		for _, unit := range inOrder(pipeline.UnitsOf(held)) {
			seen, err := i.Meter.Observe(ctx, unit, days, months)
			if err != nil {
				return s, err
			}
			s.Units++
			for _, line := range s.lines(seen.Book) {
				fmt.Fprintln(sum, line)
			}
		}
	}
	sum.Sum(s.Digest[:0])
	return s, nil
}

func inOrder(units []meterredis.Members) []meterredis.Members {
	slices.SortFunc(units, func(a, b meterredis.Members) int {
		return strings.Compare(unit{members: a}.tag(), unit{members: b}.tag())
	})
	return units
}

// lines writes a book key by key, in order, and counts the keys.
func (s *State) lines(b *meter.Book) (all []string) {
	all = append(all, write(s, "remaining_indiv_amount", b.Individual)...)
	all = append(all, write(s, "remaining_shared_amount", b.Shared)...)
	all = append(all, write(s, "daily_total_usage", b.DailyTotal)...)
	all = append(all, write(s, "daily_app_usage", b.DailyApp)...)
	s.Keys["daily_app_usage"] -= fieldsBeyondFirst(b.DailyApp)
	all = append(all, write(s, "daily_shared_usage", b.DailyShared)...)
	all = append(all, write(s, "monthly_shared_usage", b.MonthlyShared)...)
	return all
}

// fieldsBeyondFirst is how many apps share a key with another one.
func fieldsBeyondFirst(apps map[meter.AppKey]meter.AppUsage) int {
	days := map[meter.DayKey]bool{}
	for app := range apps {
		days[meter.DayKey{Line: app.Line, Day: app.Day}] = true
	}
	return len(apps) - len(days)
}

func write[K comparable, V any](s *State, kind string, values map[K]V) (all []string) {
	for key := range maps.Keys(values) {
		all = append(all, fmt.Sprintf("%s %v %v", kind, key, values[key]))
	}
	s.Keys[kind] += len(all)
	slices.Sort(all)
	return all
}
