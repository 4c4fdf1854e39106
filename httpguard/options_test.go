package httpguard_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/reprisetest"
)

func TestPrincipalMustBeChosen(t *testing.T) {
	t.Parallel()
	_, err := httpguard.New(reprisetest.New(t, reprise.Policy{}).Guard, httpguard.Options{})
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "Authorization()") {
		t.Errorf("%v", err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	guard := reprisetest.New(t, reprise.Policy{}).Guard
	for name, o := range map[string]httpguard.Options{
		"header name":          {Header: "no header"},
		"header of ours":       {Header: "reprise-no-effect"},
		"header taken out":     {Header: "host"},
		"negative body":        {MaxBody: -1},
		"negative answer":      {MaxKept: -1},
		"more than the policy": {MaxKept: reprise.DefaultMaxKept + 1},
		"method":               {Methods: []string{"post"}},
		"exclusion":            {Exclude: []string{"ts"}},
		"earlier exclusion":    {ExcludedBefore: [][]string{{"ts"}}},
		"status in two lists":  {NoEffect: []int{400}, Final: []int{400}},
		"no final status":      {Unknown: []int{100}},
		"problem":              {Statuses: map[string]int{"in-progres": 425}},
		"problem's status":     {Statuses: map[string]int{"in-progress": 200}},
		"principal's header":   {Principal: httpguard.Header("a b")},
	} {
		if o.Principal == nil {
			o.Principal = httpguard.None()
		}
		if _, err := httpguard.New(guard, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := httpguard.New(nil, httpguard.Options{Principal: httpguard.None()}); err == nil {
		t.Error("no guard: accepted")
	}
}

func TestWriteProblem(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	w.Header().Set("Content-Encoding", "gzip")
	httpguard.WriteProblem(w, httpguard.Problem{
		Type: httpguard.ProblemUpstreamUnreachable, Detail: "Try again.", RetryAfter: 1100 * time.Millisecond,
		Extensions: map[string]any{"upstream": "a", "type": "not this"},
	})
	const want = `{"type":"urn:reprise:problem:upstream-unreachable","title":"The upstream could not be reached; nothing was sent to it","status":502,"detail":"Try again.","upstream":"a"}` + "\n"
	if w.Code != 502 || w.Body.String() != want || w.Header().Get("Retry-After") != "2" || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	w = httptest.NewRecorder()
	httpguard.WriteProblem(w, httpguard.Problem{Type: httpguard.ProblemInProgress, Status: 425, Extensions: map[string]any{"bad": make(chan int)}})
	if w.Code != 425 || !strings.Contains(w.Body.String(), "in-progress") || w.Header().Get("Retry-After") != "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
