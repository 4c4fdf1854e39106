package archtest

import (
	"os"
	"path/filepath"
	"testing"
)

const root = "../.."

// TestTree applies every rule to every package of the module.
func TestTree(t *testing.T) {
	t.Parallel()
	packages, err := ParseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 5 {
		t.Fatalf("found %d packages under %s: the tree was not read", len(packages), root)
	}
	used := map[exception]bool{}
	for _, rule := range Rules() {
		for _, p := range packages {
			for _, f := range filter(rule.Name, rule.Check(p), used) {
				t.Errorf("%s %s\n\trule %q, because %s", f.Where, f.What, rule.Name, rule.Because)
			}
		}
	}
	for _, e := range exceptions {
		if !used[e] {
			t.Errorf("the exception of %s from %q is no longer needed: delete it", e.path, e.rule)
		}
		if e.because == "" {
			t.Errorf("the exception of %s from %q has no reason", e.path, e.rule)
		}
	}
}

// TestNestedModules: what only comparisons and browsers need must not be downloaded by users.
func TestNestedModules(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"bench", "e2e"} {
		if _, err := os.Stat(filepath.Join(root, dir)); os.IsNotExist(err) {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err != nil {
			t.Errorf("%s is not a module of its own: %v", dir, err)
		}
	}
}
