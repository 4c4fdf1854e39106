package httpguard_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
)

var silent = log.New(io.Discard, "", 0)

func created(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "made from %s", body)
}

func TestSameRequestTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	first := s.post("k1")
	if first.status != 201 || string(first.body) != `made from {"item":"tea"}` {
		t.Fatalf("%d %s", first.status, first.body)
	}
	wantReplay(t, first, s.post("k1"))
	wantReplay(t, first, s.post(`"k1"`)) // quoted and raw are one key
	reordered := s.send("POST", "/orders", ` {"item": "tea"}`, "Idempotency-Key: k1", "Content-Type: application/json")
	if reordered.status != 201 {
		t.Errorf("the same JSON with other spaces: %d %s", reordered.status, reordered.body)
	}
	if s.post("k2").header.Get(httpguard.HeaderReplayed) != "" || s.runs.Load() != 2 {
		t.Errorf("another key: the handler ran %d times, want 2", s.runs.Load())
	}
	if got := fmt.Sprint(s.outcomes()); got != "[fresh replayed replayed replayed fresh]" {
		t.Errorf("observed %s", got)
	}
}

func TestRefusedBeforeAnythingIsClaimed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 256)
	for name, c := range map[string]struct {
		options httpguard.Options
		headers []string
		body    string
		status  int
		problem string
	}{
		"no key":            {httpguard.Options{Required: true}, nil, "x", 400, "key-missing"},
		"empty key":         {httpguard.Options{}, []string{"Idempotency-Key: "}, "x", 400, "key-malformed"},
		"blank key":         {httpguard.Options{}, []string{"Idempotency-Key:    "}, "x", 400, "key-malformed"},
		"256 characters":    {httpguard.Options{}, []string{"Idempotency-Key: " + long}, "x", 400, "key-malformed"},
		"two lines":         {httpguard.Options{}, []string{"Idempotency-Key: a", "Idempotency-Key: a"}, "x", 400, "key-malformed"},
		"a list":            {httpguard.Options{}, []string{"Idempotency-Key: a, b"}, "x", 400, "key-malformed"},
		"raw, but strict":   {httpguard.Options{Strict: true}, []string{"Idempotency-Key: a"}, "x", 400, "key-malformed"},
		"no principal":      {httpguard.Options{Principal: httpguard.Authorization()}, []string{"Idempotency-Key: a"}, "x", 400, "principal-missing"},
		"body too large":    {httpguard.Options{MaxBody: 3}, []string{"Idempotency-Key: a"}, "four", 413, "body-too-large"},
		"other status":      {httpguard.Options{Required: true, Statuses: map[string]int{"key-missing": 428}}, nil, "x", 428, "key-missing"},
		"other header name": {httpguard.Options{Header: "x-request-key"}, []string{"X-Request-Key: a b"}, "x", 400, "key-malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reprise.Policy{}, c.options, created)
			s.send("POST", "/orders", c.body, c.headers...).wantProblem(t, c.status, c.problem)
			if s.runs.Load() != 0 {
				t.Error("the handler ran")
			}
			if counts, _ := s.bench.Store.Count(t.Context()); len(counts.States) != 0 {
				t.Errorf("something was recorded: %v", counts.States)
			}
		})
	}
}

func TestBodyOfUnknownLengthOverTheLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{MaxBody: 1000}, created)
	r := s.request("POST", "/orders", "", "Idempotency-Key: a")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1001))), -1
	s.do(r).wantProblem(t, 413, "body-too-large")
	r = s.request("POST", "/orders", "", "Idempotency-Key: a")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1000))), -1
	if a := s.do(r); a.status != 201 || len(a.body) != len("made from ")+1000 {
		t.Errorf("at the limit: %d %s", a.status, a.body)
	}
}

func TestClientCutsItsBodyShort(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /orders HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k1\r\nContent-Length: 100\r\n\r\nonly this")
	_ = conn.(*net.TCPConn).CloseWrite()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	answer{status: response.StatusCode, header: response.Header, body: body}.wantProblem(t, 400, "body-incomplete")
	if a := s.post("k1"); a.status != 201 || s.runs.Load() != 1 {
		t.Errorf("the key is not free: %d, the handler ran %d times", a.status, s.runs.Load())
	}
}

func TestPassesUnguarded(t *testing.T) {
	t.Parallel()
	inner := make(chan http.ResponseWriter, 8)
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		inner <- w
		created(w, r)
	})
	for _, c := range []struct {
		method  string
		headers []string
	}{
		{"POST", nil}, // keys are optional
		{"GET", []string{"Idempotency-Key: k"}},
		{"PUT", []string{"Idempotency-Key: k", "Idempotency-Key: "}},
		{"GET", []string{"Idempotency-Key: k", "Connection: Upgrade", "Upgrade: websocket"}},
	} {
		for range 2 {
			if a := s.send(c.method, "/orders", "x", c.headers...); a.status != 201 || a.header.Get(httpguard.HeaderReplayed) != "" {
				t.Errorf("%s %v: %d %v", c.method, c.headers, a.status, a.header)
			}
			if w := <-inner; fmt.Sprintf("%T", w) != "*http.response" {
				t.Errorf("%s %v: the handler was given a %T", c.method, c.headers, w)
			}
		}
	}
	if s.runs.Load() != 8 {
		t.Errorf("the handler ran %d times, want 8", s.runs.Load())
	}
}

// No header of the request switches the guard off: neither what ordinary clients offer in ordinary
// requests, nor what claims to leave HTTP.
func TestUpgradesOfGuardedMethodsAreGuarded(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2c", "TLS/1.2", "websocket"} {
		s := serve(t, reprise.Policy{}, httpguard.Options{Required: true}, created)
		upgrade := []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: " + protocol}
		s.send("POST", "/orders", "x", upgrade...).wantProblem(t, 400, "key-missing")
		for range 2 {
			s.send("POST", "/orders", "x", append(upgrade, "Idempotency-Key: k")...)
		}
		if s.runs.Load() != 1 {
			t.Errorf("%s: the handler ran %d times", protocol, s.runs.Load())
		}
	}
}

// O6, O14, O35: a duplicate of a running request is told so, and another request is told that, in any state.
func TestWhileTheFirstRuns(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	s := serve(t, reprise.Policy{Lease: 30 * time.Second}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		created(w, r)
	})
	first := make(chan answer, 1)
	go func() { first <- s.post("k1") }()
	<-entered
	other := func() answer {
		return s.send("POST", "/orders", `{"item":"coffee"}`, "Idempotency-Key: k1", "Content-Type: application/json")
	}
	duplicate := s.post("k1")
	duplicate.wantProblem(t, 409, "in-progress")
	if after := duplicate.header.Get("Retry-After"); after != "30" {
		t.Errorf("Retry-After %q, want 30: what is left of the lease, rounded up", after)
	}
	document := other().wantProblem(t, 422, "key-reused")
	if document["record"] != nil {
		t.Error("who sends another request is told about the record")
	}
	close(release)
	wantReplay(t, <-first, s.post("k1"))
	other().wantProblem(t, 422, "key-reused")
	if s.runs.Load() != 1 {
		t.Errorf("the handler ran %d times", s.runs.Load())
	}
}

func TestFiftyDuplicatesAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{Wait: 10 * time.Second}, httpguard.Options{}, created)
	answers := make([]answer, 50)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = s.post("k1") })
	}
	all.Wait()
	replayed := 0
	for _, a := range answers {
		if a.status != 201 || string(a.body) != `made from {"item":"tea"}` {
			t.Errorf("%d %s %v", a.status, a.body, a.err)
		}
		if a.header.Get(httpguard.HeaderReplayed) == "true" {
			replayed++
		}
	}
	if s.runs.Load() != 1 || replayed != 49 {
		t.Errorf("the handler ran %d times, %d replays", s.runs.Load(), replayed)
	}
}

// The operation is part of the key: the same key on another path is another request's.
func TestPathsDoNotShareKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	for _, path := range []string{"/a", "/b", "/a%2Fb", "/" + strings.Repeat("long", 100), "/" + strings.Repeat("long", 100) + "er"} {
		if a := s.send("POST", path, "x", "Idempotency-Key: k"); a.status != 201 || a.header.Get(httpguard.HeaderReplayed) != "" {
			t.Errorf("%.20s: %d %s", path, a.status, a.body)
		}
		if a := s.send("POST", path, "x", "Idempotency-Key: k"); a.header.Get(httpguard.HeaderReplayed) != "true" {
			t.Errorf("%.20s again: %d %s", path, a.status, a.body)
		}
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	s.post("k1")
	s.bench.Advance(reprise.DefaultReplayWindow)
	document := s.post("k1").wantProblem(t, 410, "answer-expired")
	if document["stored_at"] == nil || document["record"] == nil || s.runs.Load() != 1 {
		t.Errorf("%v; the handler ran %d times", document, s.runs.Load())
	}
}

func TestChangedExclusions(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	s.post("k1")
	with := func(o httpguard.Options) *service { return serveOn(t, s.bench.Guard, o, created) }
	with(httpguard.Options{Exclude: []string{"/ts"}}).post("k1").wantProblem(t, 409, "answer-incompatible")
	known := with(httpguard.Options{Exclude: []string{"/ts"}, ExcludedBefore: [][]string{nil}})
	if a := known.post("k1"); a.status != 201 || a.header.Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("with the earlier exclusions known: %d %s", a.status, a.body)
	}
	if known.runs.Load() != 0 {
		t.Error("the handler ran again")
	}
}
