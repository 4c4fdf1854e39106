package meterrestore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// Lines are added between two phases, to a family and to none, and units that were written already, and of which no row waits, get grants and
// policies: units are as SQL says in the end, and what was counted is confirmed.
func TestSQLChangesBetweenPhases(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 14)
	p.lines = 12 // of which there are events: line-12, of family-3, and line-13, of none, have no rows
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
		p.granted(fmt.Sprint("late-", phase))
		_, err := p.ledger.PutPolicy(ctx, "line-13", meter.LineCap, int64(phase), []meter.Field{{Name: "cap", Value: fmt.Sprint(1000 + phase)}}, "test")
		p.must(err)
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

// granted adds top-ups to a line and to a family that have no rows.
func (p *plant) granted(id string) {
	p.t.Helper()
	month := meter.Calendar{}.Month(time.Now())
	for _, g := range []meter.Grant{
		{ID: "line-" + id, Kind: meter.TopUp, Line: "line-13", Month: month, Individual: 77, QoS: 7},
		{ID: "family-" + id, Kind: meter.TopUp, Family: "family-3", Month: month, Shared: 777},
	} {
		if _, err := p.ledger.AddGrant(p.t.Context(), g); err != nil {
			p.t.Fatal(err)
		}
	}
}
