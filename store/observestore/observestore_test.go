package observestore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/observestore"
)

var claim = machine.Claim{
	Scope: machine.Scope{Operation: "POST /orders", Digest: sha256.Sum256([]byte("key"))},
	Owner: machine.Token{1}, Operation: machine.ID{1}, Lease: time.Minute,
	Fingerprints: []machine.Fingerprint{{Version: 1}},
}

// observed is a store whose spans and metrics can be read.
type observed struct {
	*observestore.Store
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
}

func observe(t *testing.T, inner store.Store) observed {
	t.Helper()
	o := observed{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	var err error
	o.Store, err = observestore.New(inner,
		trace.NewTracerProvider(trace.WithSpanProcessor(o.spans)), metric.NewMeterProvider(metric.WithReader(o.reader)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// metrics returns "name{labels}" and the number that was counted.
func (o observed) metrics(t *testing.T) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := o.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found, encoder := map[string]int64{}, attribute.DefaultEncoder()
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					found[m.Name+"{"+p.Attributes.Encoded(encoder)+"}"] = int64(p.Count)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					found[m.Name+"{"+p.Attributes.Encoded(encoder)+"}"] = p.Value
				}
			}
		}
	}
	return found
}

func TestAnsweredCommands(t *testing.T) {
	t.Parallel()
	s := observe(t, memstore.New(nil))
	for range 3 {
		if _, err := s.Apply(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int64{
		"reprise.store.duration{reprise.command=claim,reprise.outcome=acquired}":         1,
		"reprise.store.duration{reprise.command=claim,reprise.outcome=replayed-acquire}": 2,
		"reprise.store.active{reprise.command=claim}":                                    0,
	}
	got := s.metrics(t)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
	span := s.spans.Ended()[0]
	text := fmt.Sprint(span.Attributes())
	for _, part := range []string{"claim", "acquired", "POST /orders", claim.Scope.Digest.String()} {
		if !strings.Contains(text, part) {
			t.Errorf("the span does not say %q: %s", part, text)
		}
	}
	if span.Name() != "reprise.store claim" || span.Status().Code != codes.Unset {
		t.Errorf("span %q, status %v", span.Name(), span.Status())
	}
}

func TestErrorsAreClasses(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultstore.Fault{
		"unavailable": faultstore.Refused(), "lost": faultstore.Lost(), "indeterminate": faultstore.ReplyLost(),
	} {
		s := observe(t, faultstore.New(memstore.New(nil), faultstore.Nth(1, fault)))
		if _, err := s.Apply(t.Context(), claim); err == nil {
			t.Fatalf("%s: no error", name)
		}
		if n := s.metrics(t)["reprise.store.duration{error.type="+name+",reprise.command=claim}"]; n != 1 {
			t.Errorf("%s: metrics %v", name, s.metrics(t))
		}
		span := s.spans.Ended()[0]
		if span.Status().Code != codes.Error || span.Status().Description != name || len(span.Events()) != 0 {
			t.Errorf("%s: status %v, events %v", name, span.Status(), span.Events())
		}
	}
}

// failing returns one error.
type failing struct{ err error }

func (f failing) Apply(context.Context, machine.Command) (machine.Reply, error) {
	return machine.Reply{}, f.err
}
func (f failing) Close() error { return f.err }

func TestEveryErrorHasAClass(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"unavailable": store.ErrUnavailable, "lost": store.ErrLost, "indeterminate": errors.New("password=secret"),
		"corrupt": store.ErrCorrupt, "unsupported": store.ErrUnsupported, "schema": store.ErrSchema,
	} {
		s := observe(t, failing{fmt.Errorf("password=secret: %w", err)})
		if _, got := s.Apply(t.Context(), claim); !errors.Is(got, err) {
			t.Errorf("the error was changed: %v", got)
		}
		span := s.spans.Ended()[0]
		text := fmt.Sprint(span.Attributes(), span.Status(), span.Events(), s.metrics(t))
		if !strings.Contains(text, want) || strings.Contains(text, "secret") {
			t.Errorf("%s: reported %s", want, text)
		}
		if got := s.Close(); !errors.Is(got, err) {
			t.Errorf("close: %v", got)
		}
	}
}

// Owner tokens and requests are in no report, and digests in no metric.
func TestNothingSecretIsReported(t *testing.T) {
	t.Parallel()
	s := observe(t, memstore.New(nil))
	if _, err := s.Apply(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	owner := claim.Owner.Digest()
	spans, metrics := fmt.Sprint(s.spans.Ended()[0].Attributes()), fmt.Sprint(s.metrics(t))
	for _, secret := range []string{hex.EncodeToString(claim.Owner[:]), owner.String()} {
		if strings.Contains(spans+metrics, secret) {
			t.Error("an owner is reported")
		}
	}
	if strings.Contains(metrics, claim.Scope.Digest.String()) || strings.Contains(metrics, "orders") {
		t.Errorf("metrics are without bound: %s", metrics)
	}
}

func TestUnwrap(t *testing.T) {
	t.Parallel()
	s := observe(t, memstore.New(nil))
	if _, ok := store.As[store.Lister](s.Store); !ok {
		t.Error("the inner store's lister is not found")
	}
}

// With traces off, a command allocates at most what starting and ending a span that is not recorded does.
func TestAllocations(t *testing.T) {
	inner := memstore.New(nil)
	s, err := observestore.New(inner, tracenoop.NewTracerProvider(), metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())))
	if err != nil {
		t.Fatal(err)
	}
	var inspect machine.Command = machine.Inspect{Scope: claim.Scope}
	plain := testing.AllocsPerRun(1000, func() { _, _ = inner.Apply(t.Context(), inspect) })
	decorated := testing.AllocsPerRun(1000, func() { _, _ = s.Apply(t.Context(), inspect) })
	if decorated > plain+2 {
		t.Errorf("%v allocations, %v without", decorated, plain)
	}
}

func BenchmarkApply(b *testing.B) {
	inner := memstore.New(nil)
	decorated, err := observestore.New(inner, tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider())
	if err != nil {
		b.Fatal(err)
	}
	metered, err := observestore.New(inner, tracenoop.NewTracerProvider(), metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())))
	if err != nil {
		b.Fatal(err)
	}
	var inspect machine.Command = machine.Inspect{Scope: claim.Scope}
	for name, s := range map[string]store.Store{"plain": inner, "off": decorated, "metrics": metered} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Apply(b.Context(), inspect)
			}
		})
	}
}

// Providers come from the program; here they are switched off.
func ExampleNew() {
	s, err := observestore.New(memstore.New(nil), tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	reply, err := s.Apply(context.Background(), claim)
	fmt.Println(reply.Outcome, err)
	// Output: acquired <nil>
}
