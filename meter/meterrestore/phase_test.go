package meterrestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// Lines that are added between two phases, to a family and to none, and a grant to a unit that was written already: units are as SQL says
// in the end, and what was counted is confirmed.
func TestLinesAreAddedBetweenPhases(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 12)
	stop := p.work()
	p.send(p.events(60))
	if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); err != nil {
		t.Fatal(err)
	}
	p.send(p.events(40))
	stop()
	p.server.FlushAll()

	plan := p.plan()
	fence := restore.Fence{Session: 1, Epoch: 1, Generation: fmt.Sprintf("%032x", rand.Uint64())}
	for _, step := range []func(context.Context, restore.Fence) error{plan.CloseGate, plan.Renew, plan.WriteFence} {
		if err := step(ctx, fence); err != nil {
			t.Fatal(err)
		}
	}
	for phase := range plan.Describe().Phases {
		each(t, plan, phase, func(target restore.Target) error {
			_, err := plan.Apply(ctx, phase, target, fence)
			return err
		})
		if phase == len(phases())-1 {
			break
		}
		p.must(p.ledger.Import(ctx, nil, []meterledger.Line{
			{ID: fmt.Sprint("late-", phase), Family: "family-0", Individual: 700, QoS: 7}, {ID: fmt.Sprint("late-alone-", phase), Individual: 900},
		}, nil))
		if _, err := p.keeper().OpenMonths(ctx); err != nil {
			t.Fatal(err)
		}
	}
	each(t, plan, len(phases()), func(target restore.Target) error {
		_, findings, err := plan.Verify(ctx, target, fence)
		if len(findings) > 0 {
			t.Errorf("found %+v", findings)
		}
		return err
	})
	if counts, err := p.ledger.Counts(ctx); err != nil || counts.Unconfirmed > 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	p.must(plan.OpenGate(ctx, fence))
	defer p.work()()
	p.send(p.events(20))
	p.audit()
}
