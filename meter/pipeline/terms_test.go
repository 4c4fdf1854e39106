package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// Who keeps what is in Redis for another time than the ledger says is let do nothing, until all of it is written anew.
func TestHorizonIsRenewed(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4)
	before, longer := p.keeper(), p.hydration()
	longer.Horizon.Retention += 24 * time.Hour
	after := p.keeper()
	after.Horizon = longer.Horizon
	if err := after.Run(t.Context()); !errors.Is(err, meterledger.ErrHorizon) {
		t.Errorf("it keeps on other terms: %v", err)
	}
	if _, err := Hydrate(t.Context(), longer); !errors.Is(err, meterledger.ErrHorizon) {
		t.Errorf("it was hydrated on other terms: %v", err)
	}
	p.must(p.meter.GateOpen(t.Context())) // nothing was changed
	if _, err := before.OpenMonths(t.Context()); err != nil {
		t.Error(err)
	}

	longer.Renew = true
	if _, err := Hydrate(t.Context(), longer); err != nil {
		t.Fatal(err)
	}
	if err := before.Run(t.Context()); !errors.Is(err, meterledger.ErrHorizon) {
		t.Errorf("a process of before goes on: %v", err)
	}
	if _, err := after.OpenMonths(t.Context()); err != nil {
		t.Error(err)
	}
}
