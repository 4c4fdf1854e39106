package httpguard_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/reprisetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a guarded handler behind a real server.
type service struct {
	t      *testing.T
	bench  *reprisetest.Bench
	server *httptest.Server
	runs   atomic.Int64 // of the handler

	mu     sync.Mutex
	events []httpguard.Event
}

// serve starts a service. Without a principal in the options all callers share their keys.
func serve(t *testing.T, policy reprise.Policy, o httpguard.Options, handler http.HandlerFunc) *service {
	t.Helper()
	bench := reprisetest.New(t, policy)
	s := serveOn(t, bench.Guard, o, handler)
	s.bench = bench
	return s
}

func serveOn(t *testing.T, guard *reprise.Guard, o httpguard.Options, handler http.HandlerFunc) *service {
	t.Helper()
	s := &service{t: t}
	if o.Principal == nil {
		o.Principal = httpguard.None()
	}
	o.Observe = func(e httpguard.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	}
	m, err := httpguard.New(guard, o)
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewUnstartedServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.runs.Add(1)
		handler(w, r)
	})))
	s.server.Config.ErrorLog = silent
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

// outcomes returns what the requests so far came to, in the order in which they ended.
func (s *service) outcomes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		all = append(all, e.Outcome)
	}
	return all
}

// answer is what a client got.
type answer struct {
	status  int
	header  http.Header
	trailer http.Header
	body    []byte
	err     error // of the exchange or of the body
}

func (s *service) request(method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header[name] = append(r.Header[name], value)
	}
	return r
}

// send sends a request once and reads the answer to its end. It may be called by any goroutine.
func (s *service) send(method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.do(s.request(method, path, body, headers...))
}

func (s *service) do(r *http.Request) answer {
	r.GetBody = nil // the client is not to send it again by itself
	transport := s.server.Client().Transport.(*http.Transport)
	if r.Header.Get("Accept-Encoding") == "" {
		r.Header.Set("Accept-Encoding", "identity")
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	a.body, a.err = io.ReadAll(response.Body)
	a.trailer = response.Trailer
	return a
}

// post sends the usual request under a key.
func (s *service) post(key string) answer {
	s.t.Helper()
	return s.send("POST", "/orders", `{"item":"tea"}`, "Idempotency-Key: "+key, "Content-Type: application/json")
}

// problem returns the problem document of an answer, or fails the test.
func (a answer) problem(t *testing.T) map[string]any {
	t.Helper()
	document := map[string]any{}
	if a.err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("no problem document: %d %v %q %v", a.status, a.header, a.body, a.err)
	}
	if err := json.Unmarshal(a.body, &document); err != nil {
		t.Fatal(err)
	}
	if document["status"] != float64(a.status) || document["title"] == "" || document["detail"] == "" {
		t.Errorf("problem without status, title or detail: %s", a.body)
	}
	return document
}

// wantProblem fails the test unless the answer is a problem of a status and type.
func (a answer) wantProblem(t *testing.T, status int, name string) map[string]any {
	t.Helper()
	document := a.problem(t)
	if a.status != status || document["type"] != httpguard.ProblemPrefix+name {
		t.Errorf("got %d %s, want %d %s", a.status, document["type"], status, name)
	}
	return document
}

// wantReplay fails the test unless again is first, replayed: status, body and all headers but those that
// may differ.
func wantReplay(t *testing.T, first, again answer) {
	t.Helper()
	if first.err != nil || again.err != nil {
		t.Fatal(first.err, again.err)
	}
	if first.header.Get(httpguard.HeaderReplayed) != "" || first.header.Get(httpguard.HeaderStoredAt) != "" {
		t.Errorf("the first answer is marked as replayed: %v", first.header)
	}
	if again.header.Get(httpguard.HeaderReplayed) != "true" || again.header.Get(httpguard.HeaderStoredAt) == "" {
		t.Errorf("the replay is not marked: %v", again.header)
	}
	if first.status != again.status || !bytes.Equal(first.body, again.body) {
		t.Errorf("first %d %.100q, replay %d %.100q", first.status, first.body, again.status, again.body)
	}
	for _, name := range []string{httpguard.HeaderReplayed, httpguard.HeaderStoredAt, "Date"} {
		again.header.Del(name)
	}
	for _, name := range []string{"Date", "Set-Cookie", "Www-Authenticate"} {
		first.header.Del(name)
	}
	for name := range first.header {
		if strings.Join(first.header[name], "\n") != strings.Join(again.header[name], "\n") {
			t.Errorf("%s: first %q, replay %q", name, first.header[name], again.header[name])
		}
	}
	for name := range again.header {
		if _, ok := first.header[name]; !ok {
			t.Errorf("%s: %q in the replay only", name, again.header[name])
		}
	}
}
