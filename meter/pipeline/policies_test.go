package pipeline

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// block blocks a line by a policy of its own, in SQL and then in Redis.
func (p *plant) block(m *meterredis.Meter, line, family string) {
	p.t.Helper()
	if _, err := p.ledger.PutPolicy(p.t.Context(), line, meter.LineBlocked, 0, []meter.Field{{Name: "blocked", Value: "yes"}}, "test"); err != nil {
		p.t.Fatal(err)
	}
	policies, err := p.ledger.Policies(p.t.Context(), []string{line})
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(m.PutLinePolicies(p.t.Context(), line, family, policies.Lines[line]))
}

// blocked says whether an event of a line is blocked.
func (p *plant) blocked(line, family string) bool {
	p.t.Helper()
	e := p.event(1)
	e.Line = line
	decided, err := p.meter.Deduct(p.t.Context(), p.checked(e, family))
	p.must(err)
	return decided.Result.Why.Has(meter.ByLineBlocked)
}

// A policy of a line that is changed between the moment at which a hydration has read the line and that at which it writes it holds afterwards.
func TestPolicyIsChangedWhileItsLineIsHydrated(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 4)
	h := p.hydration()
	h.Renew = true
	p.must(h.closeGate(ctx))
	g, err := h.begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := h.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.must(m.Close()) }()
	p.must(h.policies(ctx, m))
	now, err := p.ledger.Now(ctx)
	p.must(err)
	ranges, err := p.ledger.Ranges(ctx, 10)
	p.must(err)
	for _, r := range ranges {
		held, err := p.ledger.Read(ctx, r, Reach(h.Calendar, h.Horizon, now))
		if err != nil {
			t.Fatal(err)
		}
		if family, here := held.Source.Members["line-0"]; here {
			p.block(m, "line-0", family)
		}
		if _, err := h.write(ctx, m, held, now); err != nil {
			t.Fatal(err)
		}
	}
	p.must(h.openGate(ctx, m, g))
	p.open()
	if !p.blocked("line-0", "family-0") || p.blocked("line-2", "family-0") {
		t.Error("the policy does not hold, or for another line")
	}
}

// The same holds of a line that moves.
func TestPolicyIsChangedWhileItsLineMoves(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 8)
	p.stopped(3, "family-1")
	now, err := p.ledger.Now(ctx)
	p.must(err)
	held, err := p.ledger.Read(ctx, meterledger.Unit(meter.UnitTag("", "family-1")), Reach(p.calendar, p.horizon, now))
	if err != nil {
		t.Fatal(err)
	}
	p.block(p.meter, "line-0", "family-1")
	p.must(p.mover().write(ctx, meterredis.Step{Line: "line-0", Number: 2}, "family-1", held, now))
	if !p.blocked("line-0", "family-1") {
		t.Error("the policy does not hold where the line is now")
	}
}

// A policy of a line that Redis does not know yet, which is changed before another line moves into its family and makes the unit, holds.
func TestPolicyOfALineThatIsLetInAfterAMove(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 4)
	if err := p.ledger.Import(ctx, []meterledger.Family{{ID: "new"}}, []meterledger.Line{{ID: "fresh", Family: "new", Individual: 1000}}, nil); err != nil {
		t.Fatal(err)
	}
	p.block(p.meter, "fresh", "new")
	p.must(p.mover().Move(ctx, "line-1", "new"))
	if _, err := p.keeper().OpenMonths(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := p.keeper().Confirm(ctx); err != nil {
		t.Fatal(err)
	}
	if !p.blocked("fresh", "new") || p.blocked("line-1", "new") {
		t.Error("the policy does not hold, or for another line")
	}
}
