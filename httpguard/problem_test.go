package httpguard

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
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
