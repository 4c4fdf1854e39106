package mysqlstore

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

// Print returns a script that does what [Migrate] does to a database without the tables, for those who run
// such things themselves, in that database. It is followed by the rights of a user who can run the service but
// not change the schema: name, for any host, or name@host. Without a user they stand as a comment.
func Print(user string) (string, error) {
	q, err := newQueries(serverClock)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", q.createVersions.with(), q.firstVersion.with())
	names, err := fs.Glob(schemaFiles, "schema/*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		file := strings.TrimPrefix(name, "schema/")
		version, err := goose.NumericComponent(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "-- %s\n%s\n%s;\n\n", file, withoutDirectives(string(text)), q.versionApplied.with(version))
	}
	b.WriteString(rights(q.grant.with(), user))
	return b.String(), nil
}

// withoutDirectives leaves out what is for goose.
func withoutDirectives(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "-- +goose") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// rights returns the grants to a user.
func rights(grants, user string) string {
	if user != "" {
		name, host := user, "%"
		if at := strings.LastIndexByte(user, '@'); at >= 0 {
			name, host = user[:at], user[at+1:]
		}
		return strings.ReplaceAll(grants, "reprise_service", quoted(name)+"@"+quoted(host)) + "\n"
	}
	var b strings.Builder
	b.WriteString("-- The rights of the user that runs the service:\n")
	for line := range strings.Lines(grants) {
		b.WriteString("-- " + line)
	}
	return b.String() + "\n"
}

// quoted writes a part of an account's name.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
