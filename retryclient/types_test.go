package retryclient

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
)

// The client knows problems by the types that the server gives them.
func TestTypesAreTheServers(t *testing.T) {
	t.Parallel()
	if problemPrefix != httpguard.ProblemPrefix {
		t.Errorf("the prefix is %q, the server's %q", problemPrefix, httpguard.ProblemPrefix)
	}
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`problemPrefix \+ "([^"]*)"`).FindAllSubmatch(source, -1)
	for _, name := range known {
		if !slices.Contains(httpguard.ProblemTypes(), string(name[1])) {
			t.Errorf("no server says %q", name[1])
		}
	}
	if len(known) == 0 {
		t.Error("problem.go names no types")
	}
}
