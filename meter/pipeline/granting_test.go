package pipeline

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// An event of a line whose grant is in SQL and on its way to Redis waits for it. One of a line that has none is refused.
func TestEventsWaitForGrants(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4)
	ctx := t.Context()
	if err := p.ledger.Import(ctx, nil, []meterledger.Line{{ID: "new", Family: "family-0", Individual: 100}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.keeper().admit(ctx, "new", "family-0"); err != nil {
		t.Fatal(err)
	}
	w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
	sample := p.event(1)
	decide := func(id string) fate {
		e := sample
		e.Line, e.ID = "new", id
		return w.decide(ctx, []delivery{{text: string(e.AppendJSON(nil)), message: meterredis.Message{ID: id}}})[0]
	}
	if f := decide("without"); f.why == nil || f.why.Reason != meter.MissingAllowance {
		t.Errorf("without a grant: %+v", f)
	}
	if _, err := p.keeper().OpenMonths(ctx); err != nil {
		t.Fatal(err)
	}
	if f := decide("waits"); f.err == nil || f.why != nil {
		t.Errorf("with a grant on its way: %+v", f)
	}
	if _, err := p.keeper().Confirm(ctx); err != nil {
		t.Fatal(err)
	}
	if f := decide("waits"); f.row == nil {
		t.Errorf("with its grant: %+v", f)
	}
}

// An event whose month is not due any more when it is decided is refused: the month is never opened again. One of a month to come waits.
func TestEventOfAMonthThatIsOver(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4)
	w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
	decide := func(days int) fate {
		e := p.event(days + 1000)
		e.At = e.At.AddDate(0, 0, days)
		return w.decide(t.Context(), []delivery{{text: string(e.AppendJSON(nil))}})[0]
	}
	if f := decide(100); f.why != nil || f.err == nil {
		t.Errorf("of a month to come: %+v", f)
	}
	if f := decide(-100); f.why == nil || f.why.Reason != meter.TooOld {
		t.Errorf("of a month that is over: %+v, %v", f, f.why)
	}
}
