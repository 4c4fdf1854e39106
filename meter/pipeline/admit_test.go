package pipeline

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// Lines and families that are imported while events are decided are let in: alone, in a family that is there, and in a new one.
func TestLinesAreLetIn(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4)
	defer p.work()()
	lines := []meterledger.Line{
		{ID: "alone", Individual: 1000}, {ID: "beside", Family: "family-0", Individual: 1000}, {ID: "first", Family: "new", Individual: 1000},
	}
	if err := p.ledger.Import(t.Context(), []meterledger.Family{{ID: "new", Shared: 500}}, lines, nil); err != nil {
		t.Fatal(err)
	}
	k := p.keeper()
	if _, err := k.OpenMonths(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} { // the second time there is nothing left
		if n, err := k.Confirm(t.Context()); err != nil || (n > 0) != want {
			t.Errorf("confirmed %d, %v", n, err)
		}
	}
	var events []meter.Event
	for n, line := range lines {
		e := p.event(n)
		e.Line, e.Bytes = line.ID, 600
		events = append(events, e)
	}
	for _, r := range p.accept(p.intake(false), events) {
		p.must(r.Err)
	}
	for id, row := range p.rows(events) {
		if row.Result.Individual != 600 {
			t.Errorf("%v: %+v", id, row.Result)
		}
	}
	p.drained()
	p.audit()
}

// A grant that was seen not to be in Redis is refused when Redis was hydrated meanwhile, which has counted it.
func TestGrantIsNotMadeBesideHydration(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 2)
	seen, err := p.ledger.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := meter.Grant{ID: "top-up", Kind: meter.TopUp, Line: "line-1", Month: p.calendar.Month(p.event(0).At), Individual: 7}
	if _, err := p.ledger.AddGrant(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	p.must(p.hydrateAnew())
	if _, err := p.meter.Grant(t.Context(), seen, g, ""); !errors.Is(err, meter.UnitNotHydrated) {
		t.Errorf("granted in the generation before: %v", err)
	}
	row, err := p.keeper().Bring(t.Context(), g.ID)
	if err != nil || !row.Confirmed() || row.Version != 0 {
		t.Errorf("%+v, %v: hydration has counted it", row, err)
	}
	p.audit()
}

// hydrateAnew hydrates what is complete and open.
func (p *plant) hydrateAnew() error {
	p.t.Helper()
	h := p.hydration()
	h.Renew = true
	if _, err := Hydrate(p.t.Context(), h); err != nil {
		return err
	}
	p.open() // as a process that was told of the new generation
	return nil
}

// A policy that is in SQL and not in every bucket is brought there by the keeper, and nothing else is written.
func TestPoliciesAreSpread(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 2)
	put, err := p.ledger.PutPolicy(t.Context(), "", meter.LineCap, 1, []meter.Field{{Name: "cap", Value: "7"}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	policies, err := p.ledger.Policies(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		if has, err := p.meter.HasPolicies(t.Context(), policies.Global); has != want || err != nil {
			t.Errorf("%t, %v", has, err)
		}
		p.must(p.keeper().Spread(t.Context()))
	}
	defer p.work()()
	e := p.event(1)
	e.Bytes = 100
	for _, r := range p.accept(p.intake(false), []meter.Event{e}) {
		p.must(r.Err)
	}
	for id, row := range p.rows([]meter.Event{e}) {
		if row.Result.Served() != 7 {
			t.Errorf("%v: %+v under %s", id, row.Result, put.Text())
		}
	}
}
