package main

import (
	"strings"
	"testing"
	"unicode"
)

func TestParseDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{ // the path, or what the refusal says
		"memory:":                  "",
		"sqlite:r.db":              "r.db",
		"sqlite:/var/lib/a b?.db":  "/var/lib/a b?.db",
		"sqlite:C:\\r.db":          "C:\\r.db",
		"sqlite::memory:":          ":memory:", // refused when it is opened
		"":                         "names no kind of store",
		"r.db":                     `did you mean "sqlite:r.db"?`,
		"memory:x":                 "takes nothing after the colon",
		"sqlite:":                  "write sqlite:PATH",
		"sqlite://u:hunter2@h/db":  "write sqlite:PATH",
		"SQLITE:r.db":              "is not a store of this version",
		"postgres://u:hunter2@h/d": "is not a store of this version",
	} {
		path, sqlite, err := parseDSN(dsn)
		if err == nil && (path != want || sqlite != strings.HasPrefix(dsn, "sqlite:")) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: path %q, SQLite %v, error %v", dsn, path, sqlite, err)
		}
		if err != nil && (want == "" || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// Whatever is given as a DSN, it is a path as it was written, the memory, or refused in one line that can
// be printed and has nothing of what may be a password.
func FuzzParseDSN(f *testing.F) {
	for _, dsn := range []string{"memory:", "sqlite:r.db", "sqlite:///r.db", "sqlite:", "", "r.db", ":", "memory:x", "postgres://u:p@h/db", "a\x1b[31m:b", "a\n:b", "\xff"} {
		f.Add(dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		path, sqlite, err := parseDSN(dsn)
		switch {
		case err == nil && sqlite && (path == "" || dsn != "sqlite:"+path):
			t.Errorf("path %q", path)
		case err == nil && !sqlite && (path != "" || dsn != "memory:"):
			t.Errorf("taken for the memory, path %q", path)
		case err == nil:
			return
		case path != "" || sqlite:
			t.Errorf("refused, with path %q and SQLite %v", path, sqlite)
		case strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }):
			t.Errorf("%q cannot be printed", err)
		}
		// The same refusal, whatever comes after "//": a user, a password, a host.
		if scheme, rest, ok := strings.Cut(dsn, ":"); ok && strings.HasPrefix(rest, "//") {
			if _, _, other := parseDSN(scheme + "://other"); other == nil || other.Error() != err.Error() {
				t.Errorf("%q tells more than %q", err, other)
			}
		}
	})
}
