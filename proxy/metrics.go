package proxy

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/reprise-dev/reprise/httpguard"
)

// metrics are the proxy's instruments. Neither operations nor keys are labels: routes and outcomes are few.
type metrics struct {
	requests   metric.Int64Counter
	duration   metric.Float64Histogram
	active     metric.Int64UpDownCounter
	sends      metric.Int64Counter
	unrecorded metric.Int64Counter
	purged     metric.Int64Counter
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	meter := provider.Meter("github.com/reprise-dev/reprise/proxy")
	m := &metrics{}
	var errs [6]error
	m.requests, errs[0] = meter.Int64Counter("reprise.requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests of guarded routes, by route and by what became of them."))
	m.duration, errs[1] = meter.Float64Histogram("reprise.request.duration", metric.WithUnit("s"),
		metric.WithDescription("How long requests of guarded routes took."),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60))
	m.active, errs[2] = meter.Int64UpDownCounter("reprise.requests.active", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that are being answered."))
	m.sends, errs[3] = meter.Int64Counter("reprise.upstream.sends", metric.WithUnit("{request}"),
		metric.WithDescription("Requests with an effect by what came of sending them: answered, unanswered (sent), unreachable (not sent)."))
	m.unrecorded, errs[4] = meter.Int64Counter("reprise.answers.unrecorded", metric.WithUnit("{answer}"),
		metric.WithDescription("Answers given before the store confirmed them; recording went on in the background."))
	m.purged, errs[5] = meter.Int64Counter("reprise.records.purged", metric.WithUnit("{record}"),
		metric.WithDescription("Records deleted after their time."))
	return m, errors.Join(errs[:]...)
}

func (m *metrics) enter(ctx context.Context) { m.active.Add(ctx, 1) }
func (m *metrics) leave(ctx context.Context) { m.active.Add(ctx, -1) }

// observer returns what a route's middleware calls after each request.
func (m *metrics) observer(route string, log *slog.Logger) func(httpguard.Event) {
	ctx := context.Background() // only for the sake of the interface
	return func(e httpguard.Event) {
		labels := metric.WithAttributeSet(attribute.NewSet(attribute.String("route", route), attribute.String("outcome", e.Outcome)))
		m.requests.Add(ctx, 1, labels)
		m.duration.Record(ctx, e.Elapsed.Seconds(), labels)
		if e.Unrecorded {
			m.unrecorded.Add(ctx, 1)
		}
		log.Debug("request", "route", route, "outcome", e.Outcome, "took", e.Elapsed)
	}
}

// sent counts an exchange with the upstream.
func (m *metrics) sent(sent bool, err error) {
	result := "answered"
	switch {
	case err != nil && sent:
		result = "unanswered"
	case err != nil:
		result = "unreachable"
	}
	m.sends.Add(context.Background(), 1, metric.WithAttributes(attribute.String("result", result)))
}
