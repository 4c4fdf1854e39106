package meterredis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/metertest"
)

// A grant comes to the state that the reference comes to, or is refused for its reason; and a second delivery changes nothing.
func TestGrantIsApplyGrant(t *testing.T) {
	t.Parallel()
	m := newMeter(t, servicetest.Redis(t).Database(t))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random, cases := rand.New(rand.NewPCG(seed, 1)), metertest.NewCases(seed, calendar(t))
	reasons := map[meter.Reason]int{}
	for n := range count(1500, 50_000) {
		c, err := cases.Next()
		if err != nil {
			t.Fatal(err)
		}
		c = m.here(c)
		g := grantOf(random, n, &c.State)
		m.put(t, c)
		next, refused := meter.ApplyGrant(c.State, g, c.Policies)
		if refused == nil && g.Kind == meter.Monthly && (g.Family != "" || c.State.Family == "") {
			next.Unit.MonthOpen = true
		}
		got, err := m.Grant(t.Context(), c.State.Generation, g, c.State.Family)
		if want := reasonOf(refused); reasonOf(err) != want || (err == nil) != (refused == nil) {
			t.Fatalf("refused with %v, want %v\nstate %+v\ngrant %+v", err, refused, c.State, g)
		}
		reasons[reasonOf(err)]++
		if err == nil {
			again, err := m.Grant(t.Context(), c.State.Generation, g, c.State.Family)
			if err != nil || !again.Replayed || again.Version != got.Version {
				t.Errorf("again: %+v, %v, after %+v", again, err, got)
			}
			g.Individual, g.Shared = g.Individual^1, g.Shared^1
			if g.Validate() == nil {
				if _, err := m.Grant(t.Context(), c.State.Generation, g, c.State.Family); reasonOf(err) != meter.GrantedTwice {
					t.Errorf("another grant of the same id: %v", err)
				}
			}
		}
		s := c.State
		after, err := m.State(context.WithoutCancel(t.Context()), s.Line, s.Family, s.App, s.Day, s.Month)
		if diff := cmp.Diff(next, after); diff != "" || err != nil {
			t.Fatalf("%v; (-want +got)\n%s", err, diff)
		}
	}
	t.Logf("%d cases: %v", sum(reasons), reasons)
}

// grantOf draws a grant to the owner of a state. Half of the states have no allowance yet.
func grantOf(random *rand.Rand, n int, s *meter.State) meter.Grant {
	g := meter.Grant{ID: fmt.Sprintf("grant-%d", n), Month: s.Month, Kind: meter.TopUp}
	if random.IntN(2) == 0 {
		g.Kind = meter.Monthly
		s.Individual, s.Shared = meter.Allowance{}, meter.SharedAllowance{}
	}
	amounts := []int64{0, 1, 5_000_000_000, 1 << 53, meter.MaxAmount}
	amount := func() int64 { return amounts[random.IntN(len(amounts))] }
	if s.Family != "" && random.IntN(2) == 0 {
		g.Family, g.Shared = s.Family, max(1, amount())
	} else {
		g.Line, g.Individual, g.QoS = s.Line, max(1, amount()), amount()
	}
	return g
}
