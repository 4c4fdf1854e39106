package retryclient

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
)

// The client knows problems by the types that the server gives them, and knows all of them.
func TestTypesAreTheServers(t *testing.T) {
	t.Parallel()
	if problemPrefix != httpguard.ProblemPrefix {
		t.Errorf("the prefix is %q, the server's %q", problemPrefix, httpguard.ProblemPrefix)
	}
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, name := range regexp.MustCompile(`problemPrefix \+ "([^"]*)"`).FindAllSubmatch(source, -1) {
		known = append(known, string(name[1]))
	}
	said := httpguard.ProblemTypes()
	slices.Sort(known)
	slices.Sort(said)
	if !slices.Equal(known, said) {
		t.Errorf("problem.go knows %q, the server says %q", known, said)
	}
}
