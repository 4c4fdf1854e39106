package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// A hydration or a restore that closes the gate in the middle of a move, which had found it open, stops the move: the line neither leaves nor arrives while
// units are written, which would be taken for units of theirs. When the gate is open again the same move ends it.
func TestGateIsClosedWhileALineMoves(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 8)
	defer p.work()()
	ctx, step, mv := t.Context(), meterredis.Step{Line: "line-0", Number: 2}, p.mover()
	gate := func(version int64, settings string) {
		t.Helper()
		policy, err := meter.ParsePolicy(meter.Gate, version, settings)
		p.must(err)
		p.must(p.meter.PutPolicy(ctx, policy))
	}
	there := func(family string) bool {
		t.Helper()
		_, there, err := p.meter.LineVersion(ctx, "line-0", family)
		p.must(err)
		return there
	}
	p.stopped(2, "")
	gate(1000, "open=no")
	if err := mv.depart(ctx, step, "family-0", false); !errors.Is(err, meter.GateClosed) || !there("family-0") {
		t.Errorf("it leaves, and is there: %v, %v", there("family-0"), err)
	}
	gate(1001, "open=yes")
	p.must(mv.depart(ctx, step, "family-0", false))
	gate(1002, "open=no")
	if err := mv.arrive(ctx, step, ""); !errors.Is(err, meter.GateClosed) || there("") {
		t.Errorf("it arrives, and is there: %v, %v", there(""), err)
	}
	gate(1003, "open=yes")
	p.must(mv.Move(ctx, "line-0", ""))
	if !there("") {
		t.Error("the line has not arrived")
	}
	patience, cancel := p.patience()
	defer cancel()
	for p.meter.GateOpen(ctx) != nil { // that it was closed may still be remembered
		pause(patience, 20*time.Millisecond)
	}
	p.use("line-0", "line-2")
	p.audit()
}
