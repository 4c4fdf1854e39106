package mysqlstore

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
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
		fmt.Fprintf(&b, "-- %s\n%s\n%s;\n\n", file, dsn.Script(string(text)), q.versionApplied.with(version))
	}
	b.WriteString(rights(q.grant.with(), user))
	return b.String(), nil
}

// rights returns the grants to a user.
func rights(grants, user string) string {
	if user != "" {
		return strings.ReplaceAll(grants, "reprise_service", dsn.MySQLAccount(user)) + "\n"
	}
	var b strings.Builder
	b.WriteString("-- The rights of the user that runs the service:\n")
	for line := range strings.Lines(grants) {
		b.WriteString("-- " + line)
	}
	return b.String() + "\n"
}
