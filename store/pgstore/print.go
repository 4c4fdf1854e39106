package pgstore

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// Print returns a script that does what [Migrate] does to a database without the schema, for those who run
// such things themselves (with psql -1 -f), followed by the rights of a role that can run the service but
// not change the schema. Without a role it stands as a comment.
func Print(schema, role string) (string, error) {
	if err := dsn.CheckSchema(schema); err != nil {
		return "", err
	}
	q, err := newQueries(schema)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s;\n%s\nSET LOCAL search_path = %s;\n\n", q.createSchema, q.createVersions, schema)
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
		fmt.Fprintf(&b, "-- %s\n%s\n%s;\n\n", file, dsn.Script(inSchema(string(text), schema)), strings.ReplaceAll(q.versionApplied, "$1", strconv.FormatInt(version, 10)))
	}
	b.WriteString(rights(q.grants, role))
	return b.String(), nil
}

// rights returns the grants to a role.
func rights(grants, role string) string {
	if role != "" {
		return strings.ReplaceAll(grants, "reprise_service", dsn.PostgresRole(role)) + "\n"
	}
	var b strings.Builder
	b.WriteString("-- The rights of the role that runs the service:\n")
	for line := range strings.Lines(grants) {
		b.WriteString("-- " + line)
	}
	return b.String() + "\n"
}
