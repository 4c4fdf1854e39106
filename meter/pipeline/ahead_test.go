package pipeline

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// A top-up of a month that is not open yet for its owner when Redis is filled waits for the monthly grant, and keeps neither that from being made nor
// the month from being opened for everybody else of the family.
func TestTopUpAheadOfAHydration(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 4)
		month := p.calendar.Month(time.Now())
		family, lines := meterledger.Family{ID: "kin", Shared: 500}, []meterledger.Line{{ID: "lone", Individual: 2000}, {ID: "ann", Family: "kin", Individual: 2000}}
		p.must(p.ledger.Import(ctx, []meterledger.Family{family}, lines, nil))
		for _, g := range []meter.Grant{{ID: "1", Line: "lone", Individual: 7}, {ID: "2", Line: "ann", Individual: 7}, {ID: "3", Family: "kin", Shared: 7}} {
			g.Kind, g.Month = meter.TopUp, month
			if _, err := p.ledger.AddGrant(ctx, g); err != nil {
				t.Fatal(err)
			}
		}
		p.refilled()
		if _, err := p.keeper().OpenMonths(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := p.keeper().Confirm(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if waiting, err := p.ledger.UnconfirmedGrants(ctx, month, "", 10); err != nil || len(waiting) > 0 {
			t.Errorf("not in Redis: %+v, %v", waiting, err)
		}
		for _, line := range lines {
			s, err := p.meter.State(ctx, line.ID, line.Family, "video", 0, month)
			if err != nil || s.Individual.Amount != 2007 || !s.Unit.MonthOpen || line.Family != "" && s.Shared.Amount != 507 {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}

// refilled hydrates as Hydrate does when all months are open.
func (p *plant) refilled() {
	p.t.Helper()
	h, ctx := p.hydration(), p.t.Context()
	h.Renew = true
	p.must(h.closeGate(ctx))
	g, err := h.begin(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := h.open(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(h.policies(ctx, m))
	p.must(h.units(ctx, m, &Hydrated{}))
	p.must(h.openGate(ctx, m, g))
	p.must(m.Close())
	p.open()
}
