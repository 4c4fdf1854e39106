package pgstore

import (
	"strings"
	"testing"
)

// A DSN is read without a server, and neither it nor its refusal shows a password.
func TestParseDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{ // how it is printed, or what the refusal says
		"postgres://u:hunter2@h:5432/db":                          "postgres://u@h:5432/db",
		"postgresql://u@h/db?schema=s_1&pgbouncer=true":           "postgresql://u@h/db?pgbouncer=1&schema=s_1",
		"postgres://u@h/db?password=hunter2&sslpassword=hunter2":  "postgres://u@h/db",
		"postgres://u:hunter2@h1:5432,h2:5432/db?sslmode=disable": "postgres://u@h1:5432,h2:5432/db?sslmode=disable",
		"postgres://":                                   "postgres:///",
		"postgres://u:hunter2/@h/db":                    "in a password, write",
		"postgres://u:hunter2%@h/db":                    "in a password, write",
		"postgres:u:hunter2@h/db":                       "in a password, write",
		"mysql://u:hunter2@h/db":                        `begins with "mysql"`,
		"postgres://u:hunter2@h/db?sslmode=perhaps":     "sslmode is invalid",
		"postgres://u@h/db?password=hunter2&sslmode=x":  "sslmode is invalid",
		"postgres://u:hunter2@h/db?pool_max_conns=many": "pool_max_conns",
		"postgres://u:hunter2@h/db?pgbouncer=perhaps":   "1 or 0",
		"postgres://u:hunter2@h/db?schema=Public":       "lower-case",
	} {
		d, err := ParseDSN(dsn)
		shown := d.String
		if err != nil {
			shown = err.Error
		}
		if got := shown(); strings.Contains(got, "hunter") || err == nil && got != want || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", dsn, got, want)
		}
	}
	if d, err := ParseDSN("postgres://h/db?schema=s_1"); err != nil || d.Schema() != "s_1" {
		t.Errorf("schema %q, %v", d.Schema(), err)
	}
	if d, err := ParseDSN("postgres://h/db"); err != nil || d.Schema() != DefaultSchema {
		t.Errorf("schema %q, %v", d.Schema(), err)
	}
}
