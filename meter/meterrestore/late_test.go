package meterrestore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// A process that was stopped may go on with any call after another one has taken over: the gate and the folds stay as that has left them.
func TestLateGate(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		done := p.restored(p.runner(p.sessions(), "test"))
		late, ctx := p.plan(), t.Context()
		if _, err := late.meter(ctx); err != nil {
			t.Fatal(err)
		}
		stopped := restore.Fence{Session: done.ID, Epoch: done.Epoch - 1, Generation: done.Generation}
		refused := func(when, gate string, folds error) {
			t.Helper()
			for name, call := range map[string]func(context.Context, restore.Fence) error{
				"close": late.CloseGate, "renew": late.Renew, "open": late.OpenGate, "abandon": late.Abandon, "fence": late.WriteFence,
			} {
				if err := call(ctx, stopped); !errors.Is(err, restore.ErrFenced) {
					t.Errorf("%s: a late call of %s: %v", when, name, err)
				}
			}
			policies, err := p.ledger.Policies(ctx, nil)
			if is := policies.Global.Get(meter.Gate).Text(); err != nil || is != gate {
				t.Errorf("%s: the gate in SQL says %q, %v", when, is, err)
			}
			if open := p.meter.Opened(ctx); open != (gate == "open=yes") {
				t.Errorf("%s: the gate in Redis is open: %v", when, open)
			}
			if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); !errors.Is(err, folds) {
				t.Errorf("%s: a fold: %v", when, err)
			}
		}
		refused("when all was done", "open=yes", nil)
		p.must(p.plan().CloseGate(ctx, restore.Fence{Session: done.ID, Epoch: done.Epoch + 1}))
		refused("when it is done again", "open=no", meterledger.ErrHeld)
	})
}

// What was looked at while Redis got another generation says nothing of the one that is asked about, whatever is there: a process that has Redis open
// believes in the generation that it has read last.
func TestLateVerification(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		plan, ctx := p.plan(), t.Context()
		g, err := plan.Generation(ctx)
		if err != nil || g == "" {
			t.Fatal(g, err)
		}
		for targets := range 3 {
			m, err := plan.meter(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before := restore.Fence{Generation: string(m.Generation())}
			after := fmt.Sprintf("%032x", targets+1)
			p.must(meterredis.Renew(ctx, p.server.DSN(1), meter.Generation(after), "test", "another restore", nil))
			from := []string{"", otherGlobals, otherSweep}[targets]
			done, found, err := plan.Verify(ctx, restore.Target{From: from, To: otherGlobals, Units: 1}, before)
			if !errors.Is(err, restore.ErrFenced) || done.Units > 0 || len(found) > 0 {
				t.Errorf("from %q: %+v, %+v, %v", from, done, found, err)
			}
		}
	})
}
