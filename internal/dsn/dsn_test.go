package dsn

import (
	"fmt"
	"strings"
	"testing"
)

// A DSN is read without a server, and neither it nor its refusal shows a password.
func TestParse(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{ // how it is printed, or what the refusal says
		"postgres://u:hunter2@h:5432/db":                          "postgres://u@h:5432/db",
		"postgresql://u@h/db?schema=s_1&pgbouncer=true":           "postgresql://u@h/db?pgbouncer=1&schema=s_1",
		"postgres://u@h/db?password=hunter2&sslpassword=hunter2":  "postgres://u@h/db",
		"postgres://u:hunter2@h1:5432,h2:5432/db?sslmode=disable": "postgres://u@h1:5432,h2:5432/db?sslmode=disable",
		"postgres://":                                 "postgres:///",
		"postgres://u:hunter2/@h/db":                  "in a password, write",
		"postgres:u:hunter2@h/db":                     "in a password, write",
		"postgres://u:hunter2@h/db?sslmode=perhaps":   "sslmode is invalid",
		"postgres://u:hunter2@h/db?pgbouncer=perhaps": "1 or 0",
		"postgres://u:hunter2@h/db?schema=Public":     "lower-case",
		"postgres://u@h/db?schema=a&schema=b":         "more than once",
		"postgres://u@h/db?pgbouncer=1;schema=a":      "%3B",
		"postgres://u@h/db?schema=a#b":                "%23",
		"mysql://u@h/db?tls=true;ca=f":                "%3B",
		"mysql://u:hunter2@h/db":                      "mysql://u@h:3306/db?tls=preferred",
		"mysql://u:hunter2@h:3307/db?tls=false":       "mysql://u@h:3307/db?tls=false",
		"mysql://u:hunter2/@h/db":                     "in a password, write",
		"mysql://u:hunter2@h":                         "no database",
		"mysql://hunter2@/db":                         "no host",
		"mysql://h/db":                                "no user",
		"mysql://u:hunter2@h/db?tls=perhaps":          "one of true",
		"mysql://u:hunter2@h/db?charset=latin1":       "tls and ca",
		"mysql://u:hunter2@h/db?ca=f&tls=false":       "only looked at",
		"sqlite://u:hunter2@h/db":                     `begins with "sqlite"`,
	} {
		var d fmt.Stringer
		var err error
		if strings.HasPrefix(dsn, "mysql") || strings.HasPrefix(dsn, "sqlite") {
			d, err = ParseMySQL(dsn)
		} else {
			d, err = ParsePostgres(dsn)
		}
		shown := d.String
		if err != nil {
			shown = err.Error
		}
		if got := shown(); strings.Contains(got, "hunter") || err == nil && got != want || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", dsn, got, want)
		}
	}
}
