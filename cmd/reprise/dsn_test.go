package main

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
)

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{ // how it is shown, or what the refusal says
		"memory:":                 "memory:",
		"sqlite:r.db":             "sqlite:r.db",
		"sqlite:/var/lib/a b?.db": "sqlite:/var/lib/a b?.db",
		"sqlite:C:\\r.db":         "sqlite:C:\\r.db",
		"sqlite::memory:":         "sqlite::memory:", // refused when it is opened
		"":                        "names no kind of store",
		"r.db":                    `did you mean "sqlite:r.db"?`,
		"memory:x":                "takes nothing after the colon",
		"sqlite:":                 "write sqlite:PATH",
		"sqlite://u:hunter2@h/db": "write sqlite:PATH",
		"SQLITE:r.db":             "is not a store of this version",
		"mongodb://u:hunter2@h/d": "is not a store of this version; this version has memory:, sqlite:PATH, postgres://",

		"postgres://u:hunter2@h/d?schema=s":        "postgres://u@h/d?schema=s",
		"postgresql://u@h/d?password=hunter2":      "postgresql://u@h/d",
		"postgres://h/d?schema=two%20words":        "lower-case letters",
		"postgres://u:hunter2@h/d?sslmode=perhaps": "sslmode is invalid",
		"postgres://u:hunter2/@h/d":                "in a password, write",
		"postgres:u:hunter2@h/d":                   "in a password, write",
		"mysql://u:hunter2@h/d?tls=true":           "mysql://u@h:3306/d?tls=true",
		"mysql://u:hunter2/@h/d":                   "in a password, write",
		"mysql://u:hunter2@h/d?charset=utf8":       "tls and ca are known",
		"mysql://u:hunter2@h":                      "names no database",
		"redis://u:hunter2@h:1/2?prefix=p:&wait=1": "redis://u@h:1/2?prefix=p%3A&wait=1",
		"rediss://h":                      "rediss://h",
		"redis+cluster://u:hunter2@h,i:2": "redis+cluster://u@h,i:2",
		"redis+sentinel://u:hunter2@h,i/m/1?sentinel-password=hunter3": "redis+sentinel://u@h,i/m/1",
		"rediss+sentinel://h":                         "does not name the master",
		"redis://u:12/hunter2@h/3":                    "in a password, write",
		"redis://u:12#hunter2@h/3":                    "in a password, write",
		"redis://u:12?hunter2@h/3":                    "in a password, write",
		"redis://u:hunter2/@h/3":                      "in a password, write",
		"redis://h?weight=1":                          "prefix, wait, replicas",
		"redis+magic://u:hunter2@h":                   "is not a store of this version",
		"host=h user=u password=hunter2":              "names no kind of store",
		"host=h user=u password=hunter2 options=-c:x": "names no kind of store",
	} {
		p, err := parsePlace(dsn)
		var shown string
		if err != nil {
			shown = err.Error()
		} else if shown = p.String(); shown != want {
			t.Errorf("%q is shown as %q, want %q", dsn, shown, want)
		}
		if !strings.Contains(shown, want) || strings.Contains(shown, "hunter") {
			t.Errorf("%q: %q, want %q", dsn, shown, want)
		}
	}
}

// What has to be quoted in a shell is.
func TestPlaceAsArgument(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"sqlite:r.db": "sqlite:r.db", "postgres://u:p@h/d": "postgres://u@h/d",
		"postgres://u:p@h/d?schema=s&sslmode=disable": "'postgres://u@h/d?schema=s&sslmode=disable'",
	} {
		if p, err := parsePlace(dsn); err != nil || p.argument() != want {
			t.Errorf("%q: %q, want %q, error %v", dsn, p.argument(), want, err)
		}
	}
}

// Whatever is given as a DSN, it is a place, or refused in one line that can be printed. Neither how it is
// shown nor the refusal has the password.
func FuzzParsePlace(f *testing.F) {
	for _, dsn := range []string{"memory:", "sqlite:r.db", "sqlite:///r.db", "sqlite:", "", "r.db", ":", "memory:x", "a\x1b[31m:b", "a\n:b", "\xff",
		"postgres://u:p@h/db", "postgres://u@h/db?target_session_attrs=%1b", "postgres://u:a/b@h/db?schema=x&pgbouncer=1", "postgresql://h1:1,h2:2/?sslmode=disable",
		"mysql://u:p@h:1/d?tls=true&ca=f", "mysql://u:a/b@h/d", "redis://u:p@h:1/2?prefix=x", "redis+sentinel://u:p@h,i/m/1?sentinel-password=p", "rediss+cluster://h1:1,h2:2"} {
		f.Add(dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		p, err := parsePlace(dsn)
		var shown string
		switch {
		case err != nil:
			if shown = err.Error(); strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q cannot be printed", shown)
			}
		case p.class == inFile && (p.path == "" || dsn != "sqlite:"+p.path):
			t.Errorf("path %q", p.path)
		case p.class == inMemory && dsn != "memory:":
			t.Errorf("taken for the memory")
		}
		if scheme, rest, ok := strings.Cut(dsn, ":"); !ok || !strings.HasPrefix(scheme, "postgres") && !strings.HasPrefix(scheme, "redis") && scheme != "mysql" || !strings.HasPrefix(rest, "//") {
			return
		}
		// The same, with a password in it that is found wherever it appears.
		const password = "hunter2hunter2"
		u, parsed := url.Parse(dsn)
		if parsed != nil {
			return
		}
		u.User = url.UserPassword("user", password)
		p, err = parsePlace(u.String())
		if err != nil {
			shown = err.Error()
		} else {
			shown = p.String()
		}
		if strings.Contains(shown, password) {
			t.Errorf("%q shows the password: %q", u, shown)
		}
	})
}
