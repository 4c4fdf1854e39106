package metertest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/reprise-dev/reprise/meter"
)

// Case is what [meter.Apply] is asked.
type Case struct {
	State    meter.State
	Event    meter.Event
	Policies meter.Policies
}

// Cases draws cases. The same seed and calendar give the same ones. It is for one goroutine.
type Cases struct {
	random   *rand.Rand
	calendar meter.Calendar
	drawn    int
	// Line makes the line of each case one of its own, so that many can be put into one Redis.
	Line func(n int) string
}

// NewCases returns the cases of a seed.
func NewCases(seed uint64, calendar meter.Calendar) *Cases {
	return &Cases{
		random: rand.New(rand.NewPCG(seed, 0)), calendar: calendar,
		Line: func(n int) string { return fmt.Sprintf("line-%d", n) },
	}
}

// Next draws a case. Most can be decided, and about one in eight must be refused.
func (c *Cases) Next() (Case, error) {
	policies, err := c.Policies()
	if err != nil {
		return Case{}, err
	}
	c.drawn++
	e := meter.Event{
		ID: fmt.Sprintf("event-%d", c.drawn), Line: c.Line(c.drawn), App: pick(c, "video", "chat", "maps"),
		At: c.instant(),
	}
	s := c.state(e)
	rule := policies.Rule(e.App, e.At)
	e.Bytes = max(1, c.near(s.Individual.Amount, s.Individual.QoS, s.Shared.Amount,
		max(0, rule.LineCap-s.DailyTotal), max(0, rule.SharedCap-s.MonthlyShared.Amount), max(0, rule.AppCap-s.DailyApp.Individual)))
	if c.one(8) {
		c.spoil(&s, &policies)
	}
	return Case{s, e, policies}, nil
}

// instant is in 2026 or 2027, and often near a change of the clocks, of the day or of the month.
func (c *Cases) instant() time.Time {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(c.random.Int64N(int64(2 * 365 * 24 * time.Hour))))
	start, _ := c.calendar.DayBounds(c.calendar.Day(at))
	if c.one(4) {
		start, _ = c.calendar.MonthBounds(c.calendar.Month(at))
	}
	if c.one(2) {
		at = start.Add(time.Duration(c.random.IntN(5)-2) * 30 * time.Minute)
	}
	return time.UnixMicro(at.UnixMicro()).UTC()
}

// state is one that deductions can have left: nothing is counted in an app that the line's total does not have.
func (c *Cases) state(e meter.Event) meter.State {
	day := c.calendar.Day(e.At)
	s := meter.State{
		Line: e.Line, App: e.App, Day: day, Month: c.calendar.MonthOf(day), Known: true,
		Generation: "9f3c41d2", Unit: meter.Unit{Generation: "9f3c41d2", Phase: meter.PhaseRows, Open: true, MonthOpen: true},
		LineVersion: c.random.Int64N(1 << 40),
		Individual:  meter.Allowance{Granted: true, Amount: c.amount(), QoS: c.amount()},
	}
	parts := &s.DailyApp
	parts.Individual, parts.QoS = c.used(), c.used()
	if c.one(2) {
		s.Family, s.FamilyVersion = "family-"+e.Line, c.random.Int64N(1<<40)
		s.Shared = meter.SharedAllowance{Granted: true, Amount: c.amount()}
		if parts.Shared = c.used(); parts.Shared > 0 {
			s.DailyShared = meter.SharedUsage{Amount: within(parts.Shared, c.used()), Family: s.Family}
			s.MonthlyShared = meter.SharedUsage{Amount: within(s.DailyShared.Amount, c.used()), Family: s.Family}
		}
	}
	s.DailyTotal = within(within(within(parts.Individual, parts.Shared), parts.QoS), c.used())
	if c.one(2) {
		*parts, s.DailyTotal, s.DailyShared, s.MonthlyShared = meter.AppUsage{}, 0, meter.SharedUsage{}, meter.SharedUsage{}
	}
	return s
}

// within adds up to the largest amount.
func within(a, b int64) int64 {
	if a > meter.MaxAmount-b {
		return meter.MaxAmount
	}
	return a + b
}

// spoil makes a state or policies that have to be refused.
func (c *Cases) spoil(s *meter.State, p *meter.Policies) {
	for _, change := range []func(){
		func() { s.Unit = meter.Unit{} },
		func() { s.Unit.Generation = "0000000000000001" },
		func() { s.Unit.Phase = meter.Phase(c.random.IntN(3)) },
		func() { s.Unit.Open = false },
		func() { s.Unit.MonthOpen = false },
		func() { s.Moved = true },
		func() { s.Known, s.LineVersion = false, 0 },
		func() { s.Individual = meter.Allowance{} },
		func() { s.Shared = meter.SharedAllowance{} },
		func() { s.DailyTotal = meter.MaxAmount },
		func() { s.MonthlyShared = meter.SharedUsage{Amount: meter.MaxAmount, Family: s.Family} },
		func() { s.DailyShared = meter.SharedUsage{Amount: 1, Family: "another"} },
		func() { s.MonthlyShared = meter.SharedUsage{Amount: 1} },
		func() { p.Global = without(p.Global, meter.PolicyID(1+c.random.IntN(8))) },
	} {
		if c.one(10) {
			change()
		}
	}
}

func without(s meter.PolicySet, id meter.PolicyID) meter.PolicySet {
	var rest meter.PolicySet
	for _, other := range meter.AllPolicies() {
		if other != id {
			rest = rest.With(s.Get(other))
		}
	}
	return rest
}

func (c *Cases) one(in int) bool { return c.random.IntN(in) == 0 }

func pick[T any](c *Cases, from ...T) T { return from[c.random.IntN(len(from))] }

// amount is small, in the range of everyday, around what a double holds, or nearly the largest.
func (c *Cases) amount() int64 {
	switch c.random.IntN(6) {
	case 0:
		return 0
	case 1:
		return c.random.Int64N(10)
	case 2:
		return 1<<53 - 5 + c.random.Int64N(10)
	case 3:
		return meter.MaxAmount - c.random.Int64N(10)
	case 4:
		return c.random.Int64N(meter.MaxAmount)
	}
	return c.random.Int64N(1 << 36)
}

func (c *Cases) used() int64 {
	if c.one(8) {
		return c.amount()
	}
	return c.random.Int64N(1 << 36)
}

// near draws an amount, often one at, below or above one of some others, or above the sum of some.
func (c *Cases) near(others ...int64) int64 {
	if c.one(4) {
		return c.amount()
	}
	n := int64(0)
	for _, other := range others[:1+c.random.IntN(len(others))] {
		n = within(n, other)
	}
	if c.one(2) {
		n = pick(c, others...)
	}
	return within(max(0, n-1), c.random.Int64N(3))
}
