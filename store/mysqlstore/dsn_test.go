package mysqlstore

import (
	"strings"
	"testing"
)

// A DSN is read without a server, and neither it nor its refusal shows a password.
func TestParseDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{ // how it is printed, or what the refusal says
		"mysql://u:hunter2@h/db":                        "mysql://u@h:3306/db?tls=preferred",
		"mysql://u:hunter2@h:33060/db?tls=false":        "mysql://u@h:33060/db?tls=false",
		"mysql://u:hunter2@[::1]/db?tls=true":           "mysql://u@[::1]:3306/db?tls=true",
		"mysql://u:hunter2@h/db?ca=%2Fetc%2Fca.pem":     "mysql://u@h:3306/db?ca=%2Fetc%2Fca.pem&tls=true",
		"mysql://u@h/db?tls=skip-verify":                "mysql://u@h:3306/db?tls=skip-verify",
		"mysql://u:hunter2@h/db?tls=perhaps":            "tls=perhaps",
		"mysql://u:hunter2@h/db?tls=false&ca=f":         "only looked at with tls=true",
		"mysql://u:hunter2@h/db?tls=true&tls=false":     "more than once",
		"mysql://u:hunter2@h/db?charset=utf8":           "tls and ca are known",
		"mysql://u:hunter2@h/db?tls=%zz":                "cannot be read",
		"mysql://u:hunter2@h":                           "names no database",
		"mysql://u:hunter2@h/":                          "names no database",
		"mysql://u:hunter2@h/a/b":                       "more than one",
		"mysql://u:hunter2@/db":                         "names no host",
		"mysql://u:hunter2@h1,h2/db":                    "or several",
		"mysql://h/db":                                  "names no user",
		"mysql://:hunter2@h/db":                         "names no user",
		"mysql://u:hunter2/@h/db":                       "in a password, write",
		"mysql://u:hunter2%@h/db":                       "in a password, write",
		"mysql://u:hun#ter2@h/db":                       "in a password, write",
		"mysql:u:hunter2@h/db":                          "in a password, write",
		"postgres://u:hunter2@h/db":                     `begins with "postgres"`,
		"u:hunter2@tcp(h:3306)/db?multiStatements=true": "cannot be read",
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
	if d, err := ParseDSN("mysql://u@h/shop"); err != nil || d.Database() != "shop" {
		t.Errorf("database %q, %v", d.Database(), err)
	}
}
