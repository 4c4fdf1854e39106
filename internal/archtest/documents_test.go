package archtest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/config"
)

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parseModule(t *testing.T) []*Package {
	t.Helper()
	packages, err := ParseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

var (
	heading  = regexp.MustCompile(`^## (.+)$`)
	firstRow = regexp.MustCompile("^\\| `([^`]+)` \\|")
)

// tables returns the names in the first column of the tables of a document, by the heading above them.
func tables(document string) map[string]names {
	found := map[string]names{}
	under := ""
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			under = m[1]
			found[under] = names{}
		}
		if m := firstRow.FindStringSubmatch(line); m != nil && under != "" {
			found[under][m[1]] = true
		}
	}
	return found
}

// TestContract: docs/contract.md lists every public name that the code has, and none that it has not.
func TestContract(t *testing.T) {
	t.Parallel()
	packages := parseModule(t)
	keys, flags, variables := names{}, flagNames(packages), variableNames(packages)
	for _, k := range config.Keys() {
		keys[k.Name] = true
		if k.Flag {
			flags["--"+k.FlagName()] = true
		}
		if k.Name != "path" && k.Name != "operation" { // these belong to one route
			variables[k.Variable()] = true
		}
	}
	meterKeys := names{}
	for _, k := range config.MeterKeys() {
		meterKeys[k.Name], variables[k.Variable()] = true, true
		if k.Flag {
			flags["--"+k.FlagName()] = true
		}
	}
	delete(flags, "--book") // of the demonstration's hidden service
	schema, err := tableNames(root)
	if err != nil {
		t.Fatal(err)
	}
	problems := constants(packages, "httpguard", "Problem")
	delete(problems, "urn:reprise:problem:")
	operators := constants(packages, "api", "Problem")
	for shared := range constants(packages, "meter/meterhttp", "Problem") {
		delete(operators, shared)
	}
	paths := adminPaths(packages)
	delete(paths, "/orders") // the demonstration's

	listed := tables(readDocument(t, "docs/contract.md"))
	for under, want := range map[string]names{
		"Flags": flags, "Variables": variables, "Configuration keys": keys, "Tables": schema,
		"Problem types": problems, "Headers": constants(packages, "httpguard", "Header"),
		"Meter problem types": constants(packages, "meter/meterhttp", "Problem"), "Meter configuration keys": meterKeys,
		"Operator problem types": operators,
		"Metrics":                metricNames(packages), "Paths": paths, "Outcomes": constants(packages, "httpguard", "Outcome"),
	} {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !listed[under][name] {
				t.Errorf("docs/contract.md, %q: `%s` is in the code and not in the list", under, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(listed[under])) {
			if !want[name] {
				t.Errorf("docs/contract.md, %q: `%s` is listed and not in the code", under, name)
			}
		}
		if len(want) == 0 {
			t.Errorf("%q: nothing was found in the code", under)
		}
	}
}

var (
	testName = regexp.MustCompile("`([a-z]+\\.(?:Test|Fuzz|Example)[A-Za-z0-9_]*)`")
	link     = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
)

func documents(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			name, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(name))
		}
	}
	return all
}

// TestDocumentsNameWhatIsThere: tests that documents name exist, and so do the files that they link to.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	tests := testNames(parseModule(t))
	named := 0
	for _, document := range documents(t) {
		text := readDocument(t, document)
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			named++
			if !tests[m[1]] {
				t.Errorf("%s names the test %s, which does not exist", document, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(document), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", document, m[1], err)
			}
		}
	}
	if named == 0 {
		t.Error("no document names a test: the pattern is wrong")
	}
}

// TestReadmeIsCompiled: the Go in the README is that of an example which is compiled and run, and its
// configuration is one that the program takes.
func TestReadmeIsCompiled(t *testing.T) {
	t.Parallel()
	readme := readDocument(t, "README.md")
	_, rest, _ := strings.Cut(readme, "```go\n")
	shown, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("README.md has no Go")
	}
	_, rest, _ = strings.Cut(readDocument(t, "readme_test.go"), "// README begins\n")
	compiled, _, ok := strings.Cut(rest, "\t// README ends")
	if !ok {
		t.Fatal("readme_test.go has no part that is for the README")
	}
	if unindent(compiled) != shown {
		t.Errorf("the Go in README.md is not that of readme_test.go:\n%s", unindent(compiled))
	}

	_, rest, _ = strings.Cut(readme, "    # reprise.yaml\n")
	yaml, _, ok := strings.Cut(rest, "\n\n")
	if !ok {
		t.Fatal("README.md has no reprise.yaml")
	}
	var lines strings.Builder
	for line := range strings.Lines(yaml) {
		lines.WriteString(strings.TrimPrefix(line, "    "))
	}
	if _, err := config.Load(config.Sources{File: "README.md", YAML: []byte(lines.String())}); err != nil {
		t.Errorf("the program refuses the configuration in README.md: %v\n%s", err, lines.String())
	}
}

func unindent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String()
}
