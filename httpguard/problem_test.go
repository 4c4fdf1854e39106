package httpguard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"
)

// The types and their statuses are those that the page for clients lists.
func TestProblemsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, known []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\d{3}) \\|").FindAllSubmatch(page, -1) {
		listed = append(listed, fmt.Sprintf("%s %s", row[1], row[2]))
	}
	for _, kind := range problemKinds {
		known = append(known, fmt.Sprintf("%s %d", kind.name, kind.status))
	}
	slices.Sort(listed)
	slices.Sort(known)
	if !slices.Equal(listed, known) {
		t.Errorf("docs/http.md lists %q, the code has %q", listed, known)
	}
	for _, name := range ProblemTypes() {
		if kind, ok := kindOf(name); !ok || kind.title == "" {
			t.Errorf("%s has no title", name)
		}
	}
}

// Whoever writes a problem says to a guard in front what it means for the key: that is not to be left to its status.
func TestProblemSaysWhatItMeansForTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem Problem
		want    string
	}{
		{Problem{Type: ProblemStoreUnavailable, RetryAfter: time.Second}, "true"},
		{Problem{Type: ProblemInProgress, RetryAfter: time.Second}, "true"},
		{Problem{Type: ProblemKeyReused, Status: http.StatusConflict}, "true"},
		{Problem{Type: ProblemOutcomeUnknown}, "false"},
		{Problem{Type: ProblemOutcomeUnknown, RetryAfter: time.Second}, "true"}, // sent again, it finds out
		{Problem{Type: ProblemUpstreamNoAnswer, RetryAfter: time.Second}, "false"},
		{Problem{Type: ProblemAnswerExpired}, ""},
		{Problem{Type: "sold-out", Status: http.StatusServiceUnavailable, RetryAfter: time.Second}, ""},
		{Problem{Type: "sold-out", Status: http.StatusConflict, Verdict: NoEffect}, "true"},
		{Problem{Type: ProblemStoreUnavailable, Verdict: Unknown}, "false"},
		{Problem{Type: ProblemStoreUnavailable, Verdict: Final}, ""},
	} {
		w := httptest.NewRecorder()
		WriteProblem(w, c.problem)
		if said := w.Header().Get(HeaderNoEffect); said != c.want {
			t.Errorf("%+v: said %q, want %q", c.problem, said, c.want)
		}
	}
}
