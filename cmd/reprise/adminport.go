package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/reprise-dev/reprise/api"
)

// adminPort serves health and metrics on a port of its own, and nothing that changes anything.
type adminPort struct {
	service  *service
	meters   metric.MeterProvider
	listener net.Listener // nil: there is none
	server   *http.Server
}

// These bound the question whether the store answers. Whoever asks whether the process is ready, and does not mind the store, must have the
// answer before it gives up: Kubernetes does after a second, and a store that hangs would take every process away.
const (
	probeTimeout = 2 * time.Second
	asideTimeout = 500 * time.Millisecond
)

// newAdminPort listens at the address. Without one there is no port, and metrics go nowhere.
func newAdminPort(address string, s *service) (*adminPort, error) {
	a := &adminPort{service: s, meters: noop.NewMeterProvider()}
	if address == "" {
		return a, nil
	}
	var metrics http.Handler
	var err error
	if a.meters, metrics, err = newMetrics(); err != nil {
		return nil, err
	}
	if err := a.watchStore(); err != nil {
		return nil, err
	}
	if a.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("cannot listen: %w; choose another address with --admin-listen", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", a.ready)
	mux.Handle("GET /metrics", metrics)
	var handler http.Handler = mux
	if tcp, ok := a.listener.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		handler = onlyLoopbackNames(mux)
	}
	a.server = &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readHeaderTimeout,
		WriteTimeout: time.Minute, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes}
	return a, nil
}

// newMetrics returns what makes instruments, and the handler that tells what they measure, in the form of Prometheus.
func newMetrics() (metric.MeterProvider, http.Handler, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, nil, err
	}
	return sdk.NewMeterProvider(sdk.WithReader(reader)), promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}

// watchStore adds a metric that says whether the store answers when it is asked for.
func (a *adminPort) watchStore() error {
	_, err := a.meters.Meter("github.com/reprise-dev/reprise/cmd/reprise").Int64ObservableGauge("reprise.store.reachable",
		metric.WithDescription("1 while the store answers, else 0."),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			var reachable int64
			if a.service.askStore(ctx, probeTimeout) == nil {
				reachable = 1
			}
			o.Observe(reachable)
			return nil
		}))
	return err
}

// serve begins to answer.
func (a *adminPort) serve() {
	if a.listener == nil {
		return
	}
	a.service.work.Go(func() {
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			a.service.failed <- err
		}
	})
}

func (a *adminPort) address() string {
	if a.listener == nil {
		return "none"
	}
	return a.listener.Addr().String()
}

func (a *adminPort) close() error {
	if a.listener == nil {
		return nil
	}
	return errors.Join(a.server.Close(), ignoreClosed(a.listener.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ready says whether requests should be sent to this process: yes from the moment it listens until it
// begins to stop. A store that does not answer does not change that. It is the same for every process that
// shares it, so that taking them all away would turn "requests with a key get 503" into "nobody gets
// anything". Who wants it otherwise asks for /readyz?store=required.
func (a *adminPort) ready(w http.ResponseWriter, r *http.Request) {
	if a.service.draining.Load() {
		say(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	status, within := http.StatusOK, asideTimeout
	if r.URL.Query().Get("store") == "required" {
		status, within = http.StatusServiceUnavailable, probeTimeout
	}
	if a.service.askStore(r.Context(), within) == nil {
		say(w, http.StatusOK, "ok")
		return
	}
	say(w, status, "the store does not answer: requests without a key pass, and those with one are answered as store-down says")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// askStore asks the store for something small.
func (s *service) askStore(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := knownSecrets(ctx, s.opened)
	return err
}

// onlyLoopbackNames refuses requests to other names than those of this machine: a page in a browser here
// can make its own name lead to a loopback address.
func onlyLoopbackNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopbackName(r.Host) {
			api.RefuseHost(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(trimBrackets(host))
	return err == nil && address.IsLoopback()
}

// trimBrackets takes the brackets from an IPv6 address without port.
func trimBrackets(host string) string {
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
