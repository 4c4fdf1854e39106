package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

// onStores runs a test on each embedded store.
func onStores(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memstore.New(nil))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "r.db"), sqlitestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
}

func testSecrets(t *testing.T) *reprise.Secrets {
	t.Helper()
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: bytes.Repeat([]byte("s"), reprise.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// route returns a route whose keys all callers share.
func route(t *testing.T, path string) Route {
	return Route{Path: path, PrincipalName: "none", Policy: reprise.Policy{Secrets: testSecrets(t)}, Options: httpguard.Options{Principal: httpguard.None()}}
}

// front is a proxy with a listener, and a client of it.
type front struct {
	*Proxy
	server *httptest.Server
}

func newFront(t *testing.T, s store.Store, settings Settings) *front {
	t.Helper()
	p, err := New(t.Context(), s, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{p, httptest.NewServer(p)}
	t.Cleanup(func() {
		f.server.Close()
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

func guarding(t *testing.T, to *url.URL, routes ...Route) Settings {
	if routes == nil {
		routes = []Route{route(t, "/")}
	}
	return Settings{Upstream: to, ClientHost: true, Routes: routes}
}

func freshKey() string { return rand.Text() }

// got is an answer that was read to its end.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

// replayed reports whether the answer says that it is one.
func (g got) replayed() bool { return g.header.Get(httpguard.HeaderReplayed) == "true" }

// problem returns the type of a problem, or "".
func (g got) problem() string {
	if g.header.Get("Content-Type") != "application/problem+json" {
		return ""
	}
	_, rest, _ := strings.Cut(g.body, httpguard.ProblemPrefix)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func (f *front) request(t *testing.T, method, path, key, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.GetBody = nil // the test's client must not send twice either
	if key != "" {
		r.Header["idempotency-key"] = []string{key} // spelt so that net/http does not know it
	}
	return r
}

// send sends a request without following what the answer says.
func (f *front) send(r *http.Request) got {
	response, err := f.server.Client().Transport.RoundTrip(r)
	if err != nil {
		return got{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return got{response.StatusCode, response.Header, string(body), err}
}

func (f *front) post(t *testing.T, path, key, body string) got {
	t.Helper()
	return f.send(f.request(t, http.MethodPost, path, key, body))
}

// serving starts an upstream, and counts the requests that it gets.
func serving(t *testing.T, handler http.HandlerFunc) (*url.URL, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u, &count
}
