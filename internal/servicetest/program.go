//go:build unix

package servicetest

import (
	_ "embed"
	"errors"
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
type absence struct {
	why string
	// given is set if the machine is as it is: a container that may not mount, say. CI bears with it.
	given bool
}

func (a absence) Error() string { return a.why }

// program finds a program of packages.txt on the path, or where Debian puts it. The newest version is taken.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	debian, pattern := debianPackage(name)
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return slices.MaxFunc(found, byVersion), nil
	}
	return "", absence{why: fmt.Sprintf("%s is not installed here: on Debian, apt-get install %s", name, debian)}
}

// byVersion orders /usr/lib/postgresql/9/bin/… before /usr/lib/postgresql/15/bin/….
func byVersion(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// debianPackage returns the Debian package of a program, and a pattern of the path where it puts that.
func debianPackage(program string) (name, pattern string) {
	for line := range strings.Lines(packages) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == program {
			return words[1], words[2]
		}
	}
	return program, ""
}

// give ends the test if err is set: skipped for an absence, unless CI=true and it can be helped, else failed.
func give(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var lacks absence
	if errors.As(err, &lacks) && (lacks.given || os.Getenv("CI") != "true") {
		t.Skip("servicetest: " + lacks.why)
	}
	t.Fatalf("servicetest: %v", err)
}
