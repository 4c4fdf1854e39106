package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store"
)

// Settings say what a proxy does. They can be replaced while it works.
type Settings struct {
	// Upstream is http://HOST[:PORT][/PATH] or https://.
	Upstream *url.URL
	// TLS is for connections to an https upstream. Nil trusts what the system trusts.
	TLS *tls.Config
	// ClientHost sends the Host that the client sent. By default it is the upstream's.
	ClientHost bool
	// TrustForwarded keeps the X-Forwarded headers of requests and adds to them. By default they are replaced.
	TrustForwarded bool
	// Routes are what is guarded. Requests of no route pass through.
	Routes []Route
	// Log receives what the client is not told. Default: nothing.
	Log *slog.Logger
}

// Proxy is an [http.Handler] in front of an upstream. Make one with [New].
type Proxy struct {
	store   store.Store
	log     *slog.Logger
	metrics *metrics
	current atomic.Pointer[generation]

	mu       sync.Mutex // held while settings are replaced, and to close
	closed   bool
	retiring sync.WaitGroup  // replaced generations
	retired  mishaps         // of those
	patience context.Context // ends when they are not waited for any more
	giveUp   context.CancelCauseFunc
}

// New returns a proxy whose records are in s, which stays the caller's. The store is asked whether the
// secrets fit, and whether a key that was recorded is found again. Metrics go to meters; nil: nowhere.
func New(ctx context.Context, s store.Store, settings Settings, meters metric.MeterProvider) (*Proxy, error) {
	if meters == nil {
		meters = noop.NewMeterProvider()
	}
	m, err := newMetrics(meters)
	if err != nil {
		return nil, err
	}
	p := &Proxy{store: s, metrics: m}
	p.patience, p.giveUp = context.WithCancelCause(context.Background())
	settings = p.settings(settings)
	p.log = settings.Log
	g, err := newGeneration(s, settings, m)
	if err != nil {
		return nil, err
	}
	if err = g.check(ctx); err == nil {
		err = selfTest(ctx, s, settings.Routes)
	}
	if err != nil {
		g.discard()
		return nil, err
	}
	p.current.Store(g)
	return p, nil
}

func (p *Proxy) settings(s Settings) Settings {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return s
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.metrics.enter(r.Context())
	defer p.metrics.leave(r.Context())
	if r.URL.Opaque != "" {
		// It has no route, and the part of it that would be sent could be the target of one.
		http.Error(w, "400 Bad Request: the target is neither a path nor a URL with a host", http.StatusBadRequest)
		return
	}
	if !r.ProtoAtLeast(1, 1) {
		w = final{w}
	}
	for {
		g := p.current.Load()
		if g == nil {
			httpguard.WriteProblem(w, httpguard.Problem{Type: httpguard.ProblemStoreUnavailable, Title: "The proxy is stopping",
				Detail: "Nothing was done. Send the request again.", RetryAfter: time.Second})
			return
		}
		if g.serve(w, r) {
			return
		}
	}
}

// final keeps informational answers from clients of HTTP/1.0, which do not know them (RFC 9110, section 15.2).
type final struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (f final) WriteHeader(status int) {
	if status >= 200 {
		f.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is for [http.ResponseController].
func (f final) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// Replace makes new settings current. Requests that run go on under the old ones; none is dropped. A
// change that leads live keys elsewhere is refused with a *[ScopeChange], unless accept is its mark.
// After an error everything is as it was.
func (p *Proxy) Replace(ctx context.Context, settings Settings, accept string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("proxy: closed")
	}
	next, err := newGeneration(p.store, p.settings(settings), p.metrics)
	if err != nil {
		return err
	}
	if change := compareScopes(p.current.Load(), next); change != nil && change.Mark != accept {
		next.discard()
		return change
	}
	if err := next.check(ctx); err != nil {
		next.discard()
		return err
	}
	last := p.current.Swap(next)
	p.retiring.Go(func() {
		if err := last.retire(p.patience); err != nil {
			p.log.Warn("the routes before the last reload did not end well", "error", err)
			p.retired.add(fmt.Errorf("routes before a reload: %w", err))
		}
	})
	return nil
}

// mishaps are errors of what ends beside each other.
type mishaps struct {
	mu   sync.Mutex
	errs []error
}

func (m *mishaps) add(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errs = append(m.errs, err)
}

func (m *mishaps) all() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.errs...)
}

// Close lets no more requests in, waits until those that run are answered and recorded, or ctx ends, and
// says if some were not, also under settings that were replaced.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	stop := context.AfterFunc(ctx, func() { p.giveUp(context.Cause(ctx)) })
	defer stop()
	defer p.giveUp(nil)
	err := p.current.Swap(nil).retire(ctx)
	p.retiring.Wait()
	return errors.Join(err, p.retired.all())
}
