package dsn

import "strings"

// Statement returns what a file says to a server: all but the lines that are comments, which are for readers.
func Statement(file string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// Script returns a migration as a person runs it: all but the lines that are for goose.
func Script(migration string) string {
	var b strings.Builder
	for line := range strings.Lines(migration) {
		if !strings.HasPrefix(line, "-- +goose") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}
