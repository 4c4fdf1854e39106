package pipeline

import (
	"crypto/rand"
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
	e.ID, e.Line = rand.Text(), line
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

// Whoever has read the policies of a line and is held up puts none of them in the place of newer ones. Those of an earlier generation are replaced,
// whatever their versions.
func TestOlderPoliciesOfALineComeLate(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	p := newPlantOn(t, server.DSN(0), servicetest.Postgres(t).Database(t), 4)
	const line, family = "line-0", "family-0"
	var sets []meter.PolicySet // as they were read, the first when there were none
	read := func() {
		policies, err := p.ledger.Policies(ctx, []string{line})
		p.must(err)
		sets = append(sets, policies.Lines[line])
	}
	put := func(id meter.PolicyID, seen int64, name, value string) {
		_, err := p.ledger.PutPolicy(ctx, line, id, seen, []meter.Field{{Name: name, Value: value}}, "test")
		p.must(err)
		read()
	}
	read()
	put(meter.LineBlocked, 0, "blocked", "no")
	put(meter.LineBlocked, 1, "blocked", "yes")
	put(meter.LineCap, 0, "cap", "5000000")
	newest := len(sets) - 1
	for _, order := range [][]int{{newest, 0, 2, 1}, {2, 0, newest, 1}} {
		for _, i := range order {
			p.must(p.meter.PutLinePolicies(ctx, line, family, sets[i]))
		}
		if !p.blocked(line, family) {
			t.Errorf("in the order %v: an older policy holds", order)
		}
	}
	keys := p.meter.KeysOf(meterredis.Members{Family: family, Lines: []string{line}})
	if cap := server.Do("HGET", keys.LinePolicies(line), "3:version"); cap != "1" {
		t.Errorf("the cap has version %v", cap)
	}

	now := server.Do("HGET", keys.Unit(), "generation").(string)
	server.Do("HSET", keys.Unit(), "generation", "0123")
	p.must(p.meter.PutLinePolicies(ctx, line, family, sets[0]))
	if left := server.Do("EXISTS", keys.LinePolicies(line)); left != int64(0) {
		t.Errorf("of another generation there is %v", left)
	}
	p.must(p.meter.PutLinePolicies(ctx, line, family, sets[newest]))
	server.Do("HSET", keys.Unit(), "generation", now)
	if !p.blocked(line, family) {
		t.Error("the policy does not hold")
	}
}
