package httpguard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
)

// respond answers with statuses one after another, then 201.
func respond(statuses ...int) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		status := 201
		if i := int(n.Add(1)); i <= len(statuses) {
			status = statuses[i-1]
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "status %d", status)
	}
}

func TestWhichAnswersAreFinal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options httpguard.Options
		first   int
		again   int // what a retry gets: the same, 201 after a rerun, or 409
		runs    int64
	}{
		"400 is final":            {httpguard.Options{}, 400, 400, 1},
		"500 is final":            {httpguard.Options{}, 500, 500, 1},
		"503 of ours is final":    {httpguard.Options{}, 503, 503, 1},
		"429 has no effect":       {httpguard.Options{}, 429, 201, 2},
		"502 of an upstream":      {httpguard.Options{Upstream: true}, 502, 409, 1},
		"503 of an upstream":      {httpguard.Options{Upstream: true}, 503, 409, 1},
		"504 of an upstream":      {httpguard.Options{Upstream: true}, 504, 409, 1},
		"500 of an upstream":      {httpguard.Options{Upstream: true}, 500, 500, 1},
		"400, said no effect":     {httpguard.Options{NoEffect: []int{400}}, 400, 201, 2},
		"500, said unknown":       {httpguard.Options{Unknown: []int{500}}, 500, 409, 1},
		"429, said final":         {httpguard.Options{Final: []int{429}}, 429, 429, 1},
		"503 upstream, no effect": {httpguard.Options{Upstream: true, NoEffect: []int{503}}, 503, 201, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reprise.Policy{}, c.options, respond(c.first))
			if first := s.post("k1"); first.status != c.first || string(first.body) != fmt.Sprintf("status %d", c.first) {
				t.Errorf("the answer is not passed on: %d %s", first.status, first.body)
			}
			again := s.post("k1")
			if again.status != c.again || s.runs.Load() != c.runs {
				t.Errorf("again: %d, the handler ran %d times; want %d and %d", again.status, s.runs.Load(), c.again, c.runs)
			}
			if c.again == 409 {
				again.wantProblem(t, 409, "outcome-unknown")
			}
		})
	}
}

func TestEvidenceIsKept(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{Upstream: true}, respond(503))
	s.post("k1")
	digest, err := machine.ParseDigest(s.post("k1").problem(t)["record"].(string))
	if err != nil {
		t.Fatal(err)
	}
	evidence := s.bench.Record(t, digest)
	seen, err := httpguard.ReadAnswer(reprise.Response{Codec: evidence.Response.Codec, Data: evidence.Response.Data})
	if err != nil || seen.Status != 503 || string(seen.Body) != "status 503" {
		t.Errorf("evidence %+v, %v", seen, err)
	}
	// An operator who has found out settles it with an answer of the same form, which then replays.
	s.bench.Settle(t, digest, httpguard.Answer{Status: 201, Header: http.Header{"Location": {"/orders/7"}}}.Response())
	if a := s.post("k1"); a.status != 201 || a.header.Get("Location") != "/orders/7" || a.header.Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("after settling: %d %v", a.status, a.header)
	}
}

func TestSettledInAnotherForm(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{Upstream: true}, respond(503))
	s.post("k1")
	digest, _ := machine.ParseDigest(s.post("k1").problem(t)["record"].(string))
	s.bench.Settle(t, digest, reprise.Response{Codec: reprise.CodecJSON, Data: []byte("{}")})
	s.post("k1").wantProblem(t, 409, "answer-incompatible")
}

func TestHandlerReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict httpguard.Verdict
		status  int
		again   int
		told    string // to a guard in front
	}{
		"a 200 without effect": {httpguard.NoEffect, 200, 201, "true"},
		"a 200 that is open":   {httpguard.Unknown, 200, 409, "false"},
		"a 502 not sent":       {httpguard.NoEffect, 502, 201, "true"},
		"a 504 that is final":  {httpguard.Final, 504, 504, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reported := false
			s := serve(t, reprise.Policy{}, httpguard.Options{Upstream: true}, func(w http.ResponseWriter, r *http.Request) {
				if reported {
					w.WriteHeader(201)
					return
				}
				reported = true
				w.WriteHeader(c.status)
				httpguard.Report(r.Context(), c.verdict, "as the test says")
			})
			first, again := s.post("k1"), s.post("k1")
			if first.status != c.status || again.status != c.again {
				t.Errorf("%d, then %d; want %d, then %d", first.status, again.status, c.status, c.again)
			}
			if told := first.header.Get(httpguard.HeaderNoEffect); told != c.told {
				t.Errorf("a guard in front is told %q, want %q", told, c.told)
			}
		})
	}
	httpguard.Report(t.Context(), httpguard.Unknown, "outside of a request this does nothing")
	if httpguard.RunFrom(t.Context()) != nil {
		t.Error("a run outside of a request")
	}
}

func TestUpstreamSaysWhatItsAnswerMeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		upstream bool
		said     string
		status   int
		again    int // of a retry
	}{
		{true, "true", 503, 503}, {true, "true", 500, 500}, {true, "false", 500, 409}, {true, "perhaps", 500, 500},
		{false, "true", 503, 503}, {false, "false", 500, 500},
	} {
		s := serve(t, reprise.Policy{}, httpguard.Options{Upstream: c.upstream}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Reprise-No-Effect", c.said)
			w.WriteHeader(c.status)
		})
		first, again := s.post("k1"), s.post("k1")
		if passed := first.header.Get("Reprise-No-Effect") != ""; passed == c.upstream {
			t.Errorf("%+v: the header was passed on: %v", c, passed)
		}
		if first.status != c.status || again.status != c.again {
			t.Errorf("%+v: answered %d, then %d", c, first.status, again.status)
		}
		if ran := s.runs.Load() == 2; ran != (c.upstream && c.said == "true") {
			t.Errorf("%+v: the handler ran %d times", c, s.runs.Load())
		}
	}
}

func TestDownstreamKeyIsTheSameOnEveryAttempt(t *testing.T) {
	t.Parallel()
	keys := map[string]int{}
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		keys[httpguard.RunFrom(r.Context()).DownstreamKey("charge")]++
		w.WriteHeader(429)
	})
	s.post("k1")
	s.post("k1")
	s.post("k2")
	if len(keys) != 2 || s.runs.Load() != 3 {
		t.Errorf("%v in %d runs", keys, s.runs.Load())
	}
}

// O15, O17: a panic leaves the outcome unknown, and goes on.
func TestPanics(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"panic": "oh", "abort": http.ErrAbortHandler} {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprint(name, written), func(t *testing.T) {
				t.Parallel()
				s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
					if written {
						fmt.Fprint(w, "half an answer")
					}
					panic(value)
				})
				if first := s.post("k1"); first.err == nil {
					t.Errorf("an answer after a panic: %d %q", first.status, first.body)
				}
				s.post("k1").wantProblem(t, 409, "outcome-unknown")
				if got := fmt.Sprint(s.outcomes()); s.runs.Load() != 1 || got != "[panicked outcome-unknown]" {
					t.Errorf("the handler ran %d times, observed %s", s.runs.Load(), got)
				}
			})
		}
	}
}

func TestInvalidStatusIsAPanicAsInNetHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(42) })
	if first := s.post("k1"); first.err == nil {
		t.Errorf("answered %d", first.status)
	}
	s.post("k1").wantProblem(t, 409, "outcome-unknown")
}

func TestWorksWithServeMux(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	byPattern, err := httpguard.New(s.bench.Guard, httpguard.Options{
		Principal: httpguard.None(),
		Operation: func(r *http.Request) string { return r.Pattern },
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{id}/pay", byPattern.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "paid %s", r.PathValue("id"))
	})))
	pay := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader("x"))
		r.Header.Set("Idempotency-Key", "k1")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	first, again := pay("/orders/7/pay"), pay("/orders/7/pay")
	if first.Body.String() != "paid 7" || again.Body.String() != "paid 7" || again.Header().Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("%s, then %s %v", first.Body, again.Body, again.Header())
	}
	// One operation for all orders: the key is used up for order 8.
	if other := pay("/orders/8/pay"); other.Code != 422 {
		t.Errorf("another order under the same key: %d %s", other.Code, other.Body)
	}
}
