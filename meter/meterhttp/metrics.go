package meterhttp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// instruments count what comes in, and watch what waits.
type instruments struct{ events metric.Int64Counter }

func newInstruments(p Parts) (i instruments, err error) {
	if p.Meters == nil {
		p.Meters = noop.NewMeterProvider()
	}
	m := p.Meters.Meter("github.com/reprise-dev/reprise/meter/meterhttp")
	if i.events, err = m.Int64Counter("reprise.meter.events", metric.WithDescription("Events at intake, by what became of them.")); err != nil {
		return i, err
	}
	if _, err := m.Int64ObservableGauge("reprise.meter.waiting", metric.WithDescription("Events in the streams that are not done."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			n, err := p.Intake.Streams.Waiting(ctx)
			if err == nil {
				o.Observe(n)
			}
			return nil // what cannot be asked is not there
		})); err != nil {
		return i, err
	}
	if _, err := m.Int64ObservableGauge("reprise.meter.inbox", metric.WithDescription("Events in the durable inbox that are not done."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			n, _, err := p.Ledger.CountInbox(ctx)
			if err == nil {
				o.Observe(n)
			}
			return nil
		})); err != nil {
		return i, err
	}
	if _, err := m.Int64ObservableGauge("reprise.meter.dead_letters", metric.WithDescription("Dead letters: events that were refused for good."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			n, err := p.Intake.Streams.Dead(ctx)
			if err == nil {
				o.Observe(n)
			}
			return nil
		})); err != nil {
		return i, err
	}
	_, err = m.Int64ObservableGauge("reprise.meter.gate", metric.WithDescription("1 while the gate is open, else 0."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			var open int64
			if p.Meter.GateOpen(ctx) == nil {
				open = 1
			}
			o.Observe(open)
			return nil
		}))
	return i, err
}

// count counts lines by what became of each.
func (i instruments) count(ctx context.Context, lines []*line) {
	outcomes := map[string]int64{}
	for _, l := range lines {
		if l.Problem == nil {
			outcomes["accepted"]++
		} else {
			outcomes[l.problem.Type]++
		}
	}
	for outcome, n := range outcomes {
		i.events.Add(ctx, n, metric.WithAttributes(attribute.String("outcome", outcome)))
	}
}

// refuse counts lines that were refused together.
func (i instruments) refuse(ctx context.Context, outcome string, n int) {
	i.events.Add(ctx, int64(n), metric.WithAttributes(attribute.String("outcome", outcome)))
}
