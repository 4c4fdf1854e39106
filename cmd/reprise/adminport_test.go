package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

func TestAdminPort(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	p := startProxy(t, t.TempDir(), nil, "--upstream", up.URL, "--principal", "none", "--admin-listen", "127.0.0.1:0")
	for range 3 {
		p.post("/orders", "one", "book")
	}
	p.post("/orders", "", "book")
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/readyz?store=required": 200, "/": 404, "/debug/pprof/": 404} {
		if g := p.adminGet(path); g.status != want {
			t.Errorf("%s: %d, want %d", path, g.status, want)
		}
	}
	metrics := p.adminGet("/metrics").body
	for _, want := range []string{
		`reprise_requests_total{outcome="fresh",route="/"} 1`,
		`reprise_requests_total{outcome="replayed",route="/"} 2`,
		`reprise_requests_total{outcome="unguarded",route="/"} 1`,
		`reprise_request_duration_seconds_count{outcome="fresh",route="/"} 1`,
		`reprise_upstream_sends_total{result="answered"} 2`,
		`reprise_requests_active 0`,
		`reprise_store_reachable 1`,
		`reprise_store_duration_seconds_count{`,
		`go_goroutines`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%s is missing in:\n%s", want, metrics)
		}
	}
}

// A store that does not answer leaves the process ready, unless it is asked otherwise.
func TestReadyWithoutStore(t *testing.T) {
	t.Parallel()
	closed := memstore.New(nil)
	closed.Close()
	port := &adminPort{service: &service{opened: &openedStore{Store: closed}}}
	for query, want := range map[string]int{"": 200, "?store=required": 503} {
		answer := httptest.NewRecorder()
		port.ready(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz"+query, nil))
		if answer.Code != want || !strings.Contains(answer.Body.String(), "the store does not answer") {
			t.Errorf("%q: %d %s, want %d", query, answer.Code, answer.Body, want)
		}
	}
}

// hanging is a store that answers nothing, and notes how long it was waited for at most.
type hanging struct {
	*memstore.Store
	patience time.Duration
}

func (h *hanging) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	deadline, _ := ctx.Deadline()
	h.patience = time.Until(deadline)
	return nil, 0, store.ErrUnavailable
}

// Where a store that hangs does not matter, the answer comes before those who ask give up, which is after a second by default.
func TestReadyWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	s := &hanging{Store: memstore.New(nil)}
	port := &adminPort{service: &service{opened: &openedStore{Store: s}}}
	answer := httptest.NewRecorder()
	port.ready(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	if answer.Code != 200 || s.patience <= 0 || s.patience >= time.Second {
		t.Errorf("%d %s, after up to %v", answer.Code, answer.Body, s.patience)
	}
}

// A page whose name was made to lead here is not answered.
func TestAdminPortHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:9090": true, "127.0.0.1:9090": true, "127.9.9.9": true, "[::1]:9090": true, "[::1]": true,
		"evil.example": false, "evil.example:9090": false, "localhost.evil.example": false, "10.0.0.1:9090": false, "": false,
	} {
		if isLoopbackName(host) != want {
			t.Errorf("%q: want %v", host, want)
		}
	}
}
