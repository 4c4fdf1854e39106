package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A proof that found nothing to try has shown nothing, whatever its exit code.
func TestNothingTriedIsAFailure(t *testing.T) {
	t.Parallel()
	p := proof{what: "nothing", tests: []string{"-run=^TestTried$", "."}, count: regexp.MustCompile(`tried (\d+) things`), unit: "things"}
	if r, output := p.run(t.Context()); !r.OK || r.Tries != 1234 {
		t.Errorf("ok %v, %d tries, want ok and 1234:\n%s", r.OK, r.Tries, output)
	}
	p.tests[0] = "-run=^TestThatIsNotThere$"
	if r, output := p.run(t.Context()); r.OK {
		t.Errorf("a run without a single try passed:\n%s", output)
	}
}

// TestTried is what the test above runs.
func TestTried(t *testing.T) {
	t.Parallel()
	t.Log("tried 1000 things")
	t.Log("tried 234 things")
}

// Results are kept from run to run, and the page says of each proof what is known.
func TestPage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	once, line := single()[0], lines()[0]
	kept := filepath.Join(t.TempDir(), "proof.json")
	if err := (results{
		once.what:                    {OK: true, Tries: 1234567, Seconds: 60, At: at, Revision: "abc"},
		line.proof(places()[1]).what: {Tries: 12, At: at, Revision: "abc"},
	}).write(kept); err != nil {
		t.Fatal(err)
	}
	all, err := readResults(kept)
	if err != nil {
		t.Fatal(err)
	}
	text := page(all)
	for _, part := range []string{
		"| 1,234,567 " + once.unit + " | ok | 1m0s | 2026-05-04 | abc |",
		"**" + line.what + "**: " + line.how + " | not run | 12 commands, **FAILED**, 2026-05-04 | not run |",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// The page in docs is that of the results beside it: each proof and each cell has what it came to last, with a number and a date, or says that it
// was not run. A result of no proof would be lost with the next run, and nobody would see it.
func TestDocumentedResults(t *testing.T) {
	t.Parallel()
	kept, err := readResults("../../docs/proof.json")
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	is, _, _ := strings.Cut(string(written), "\nWith go") // the toolchain is that of the last run
	want, _, _ := strings.Cut(page(kept), "\nWith go")
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("docs/proof.md is not what docs/proof.json says (go run ./internal/prove -only '^$' writes it):\n%s", diff)
	}
	known := map[string]bool{}
	for _, p := range proofs() {
		known[p.what] = true
	}
	for what, r := range kept {
		if !known[what] || r.Tries <= 0 || r.Revision == "" || r.At.Year() < 2026 || r.At.After(time.Now().Add(24*time.Hour)) {
			t.Errorf("%q, which is a proof: %v, came to %+v", what, known[what], r)
		}
	}
}

// A matrix with a hole would look like one that nobody has tried.
func TestMatrixIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range proofs() {
		if len(p.tests) == 0 || p.count == nil || p.unit == "" || seen[p.what] {
			t.Errorf("%q has no tests, or is there twice", p.what)
		}
		seen[p.what] = true
	}
}
