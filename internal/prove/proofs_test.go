package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// A proof that found nothing to try has shown nothing, whatever its exit code.
func TestNothingTriedIsAFailure(t *testing.T) {
	t.Parallel()
	p := proof{what: "nothing", tests: []string{"-run=^TestTried$", "."}, count: regexp.MustCompile(`tried (\d+) things`), unit: "things"}
	if r := p.run(t.Context()); !r.ok || r.tries != 1234 {
		t.Errorf("ok %v, %d tries, want ok and 1234:\n%s", r.ok, r.tries, r.output)
	}
	p.tests[0] = "-run=^TestThatIsNotThere$"
	if r := p.run(t.Context()); r.ok {
		t.Errorf("a run without a single try passed:\n%s", r.output)
	}
}

// TestTried is what the test above runs.
func TestTried(t *testing.T) {
	t.Parallel()
	t.Log("tried 1000 things")
	t.Log("tried 234 things")
}

func TestPage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	text := page([]result{
		{proof: proof{what: "this", how: "so", unit: "worlds"}, ok: true, tries: 1234567, took: time.Minute, at: at},
		{proof: proof{what: "that", how: "thus", unit: "tests"}, tries: 12, at: at},
	})
	for _, row := range []string{
		"| this | so | 1,234,567 worlds | ok | 1m0s | 2026-05-04 |",
		"| that | thus | 12 tests | **FAILED** | 0s | 2026-05-04 |",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("no row %q in\n%s", row, text)
		}
	}
}
