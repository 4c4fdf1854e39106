package pipeline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Of the units of one bucket a line has the same keys: it moves between them like between any two, also where an earlier move has stopped
// and after a hydration, which leaves no marks; and whoever still believes it in another one is told that it has moved.
func TestLineMovesInOneBucket(t *testing.T) {
	t.Parallel()
	beside := "beside-0"
	for n := 1; meterredis.UnitBucket("", beside) != meterredis.UnitBucket("", "family-0"); n++ {
		beside = fmt.Sprint("beside-", n)
	}
	for steps := range 5 {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 8)
			stop := p.work()
			p.must(p.ledger.Import(ctx, []meterledger.Family{{ID: beside, Shared: 30_000}}, nil, nil))
			if _, err := p.keeper().OpenMonths(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := p.keeper().Confirm(ctx); err != nil {
				t.Fatal(err)
			}
			events := p.use("line-0", "line-0")
			p.stopped(steps, beside)
			was := "family-0"
			for n, to := range []string{beside, "family-1", "family-0", beside, "family-0"} {
				if n == 4 {
					stop()
					again := p.hydration()
					again.Renew = true
					if _, err := Hydrate(ctx, again); err != nil {
						t.Fatal(err)
					}
					p.open()
					stop = p.work()
				}
				for range 2 {
					p.must(p.mover().Move(ctx, "line-0", to))
				}
				events = append(events, p.use("line-0", "line-0", "line-2")...)
				late := p.event(1000 + n)
				late.Line = "line-0"
				if _, err := p.meter.Deduct(ctx, meterredis.Delivery{Event: late, Family: was}); !errors.Is(err, meter.LineMoved) {
					t.Errorf("an event that is sent to family %q, of a line that is in %q: %v", was, to, err)
				}
				was = to
			}
			p.accept(p.intake(false), events)
			stop()
			p.audit()
		})
	}
}
