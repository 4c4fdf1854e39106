package observestore

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// scopeName names the instrumentation to OpenTelemetry.
const scopeName = "github.com/reprise-dev/reprise/store/observestore"

// Store is a decorator that reports what goes through it. Make one with [New].
type Store struct {
	inner    store.Store
	tracer   trace.Tracer
	duration metric.Float64Histogram
	active   metric.Int64UpDownCounter
	labels   labels
}

// New returns a store over inner that reports to the providers. Those of OpenTelemetry's noop packages
// switch traces or metrics off. It fails when the meter refuses an instrument.
func New(inner store.Store, traces trace.TracerProvider, meters metric.MeterProvider) (*Store, error) {
	meter := meters.Meter(scopeName)
	duration, err := meter.Float64Histogram("reprise.store.duration",
		metric.WithUnit("s"),
		metric.WithDescription("How long the store took for a command."),
		metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	if err != nil {
		return nil, fmt.Errorf("observestore: %w", err)
	}
	active, err := meter.Int64UpDownCounter("reprise.store.active",
		metric.WithUnit("{command}"),
		metric.WithDescription("Commands that the store is working on."))
	if err != nil {
		return nil, fmt.Errorf("observestore: %w", err)
	}
	return &Store{
		inner: inner, tracer: traces.Tracer(scopeName),
		duration: duration, active: active, labels: newLabels(),
	}, nil
}

// Unwrap implements [store.Unwrapper].
func (s *Store) Unwrap() store.Store { return s.inner }

// Close implements [store.Store].
func (s *Store) Close() error { return s.inner.Close() }

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	names := s.labels.of(command.Kind())
	ctx, span := s.tracer.Start(ctx, names.span, names.spanOptions...)
	defer span.End()
	s.active.Add(ctx, 1, names.active...)
	defer s.active.Add(ctx, -1, names.active...)

	began := time.Now()
	reply, err := s.inner.Apply(ctx, command)
	took := time.Since(began).Seconds()

	if err != nil {
		class := classOf(err)
		s.duration.Record(ctx, took, names.failed[class]...)
		span.SetStatus(codes.Error, class.String())
		if span.IsRecording() {
			span.SetAttributes(scopeAttributes(command.Target())...)
			span.SetAttributes(class.attribute())
		}
		return reply, err
	}
	s.duration.Record(ctx, took, names.answered[reply.Outcome]...)
	if span.IsRecording() {
		span.SetAttributes(scopeAttributes(command.Target())...)
		span.SetAttributes(replyAttributes(reply)...)
	}
	return reply, nil
}
