package meterrestore

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// A restore leaves a top-up of a month that is not open yet for its owner to whoever opens the month: it waits for the monthly grant.
func TestTopUpAheadOfARestore(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 8)
		month := meter.Calendar{}.Month(time.Now())
		p.must(p.ledger.Import(ctx, nil, []meterledger.Line{{ID: "lone", Individual: 2000}}, nil))
		top := meter.Grant{ID: "ahead", Kind: meter.TopUp, Line: "lone", Month: month, Individual: 7}
		if _, err := p.ledger.AddGrant(ctx, top); err != nil {
			t.Fatal(err)
		}
		p.restored(p.runner(p.sessions(), "test"))
		if row, err := p.ledger.Grant(ctx, top.ID); err != nil || row.Confirmed() {
			t.Errorf("%+v, %v", row, err)
		}
		if _, err := p.meter.Reread(ctx); err != nil {
			t.Error(err)
		}
		keeper := p.keeper()
		keeper.Meter = p.meter
		if _, err := keeper.OpenMonths(ctx); err != nil {
			t.Error(err)
		}
		if _, err := keeper.Confirm(ctx); err != nil {
			t.Error(err)
		}
		if s, err := p.meter.State(ctx, "lone", "", "video", 0, month); err != nil || s.Individual.Amount != 2007 || !s.Unit.MonthOpen {
			t.Errorf("%+v, %v", s, err)
		}
		p.audit()
	})
}
