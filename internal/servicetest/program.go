//go:build unix

package servicetest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:embed packages.txt
var packages string

// absence is why a test cannot run here. It is no fault of the code under test.
type absence string

func (a absence) Error() string { return string(a) }

// program finds a program on the path, or where Debian puts servers. The newest version is taken.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/sbin/", "/usr/local/sbin/"} {
		found, err := filepath.Glob(pattern + name)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return slices.MaxFunc(found, byVersion), nil
		}
	}
	return "", absence(fmt.Sprintf("%s is not installed here: on Debian, apt-get install %s", name, packageOf(name)))
}

// byVersion orders /usr/lib/postgresql/9/bin/… before /usr/lib/postgresql/15/bin/….
func byVersion(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// packageOf returns the Debian package of a program, from packages.txt.
func packageOf(program string) string {
	for line := range strings.Lines(packages) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == program {
			return words[1]
		}
	}
	return program
}

// give ends the test if err is set: skipped for an absence, unless CI=true, else failed.
func give(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if why, ok := err.(absence); ok && os.Getenv("CI") != "true" {
		t.Skip("servicetest: " + string(why))
	}
	t.Fatalf("servicetest: %v", err)
}
