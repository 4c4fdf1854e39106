package database

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// CheckDSN reports what is wrong with a DSN, and connects to nothing. The error repeats no password.
func CheckDSN(text string, kit Kit) error {
	_, err := parse(text, kit.Name)
	return err
}

// Print returns a script that does what [Migrate] does to a database without the kit's tables, for those who run such things
// themselves, and connects to nothing. It is followed by the rights of a role that can work with the tables and not change them: on
// MySQL of a user, name for any host or name@host. Without a role they stand as a comment.
func Print(text string, kit Kit, role string) (string, error) {
	engine, err := parse(text, kit.Name)
	if err != nil {
		return "", err
	}
	d := &DB{engine: engine, kit: kit}
	var create, note, grants Statement
	named := map[string]*Statement{"create_versions": &create, "note_version": &note, "grants": &grants}
	if err := load(engine, ownFiles, named, strings.NewReplacer("VERSIONS", kit.Versions)); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- Tables of %s.\n\n%s\n\n", kit.Name, create.text)
	names, err := fs.Glob(d.files(), "schema/*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		migration, err := fs.ReadFile(d.files(), name)
		if err != nil {
			return "", err
		}
		file := strings.TrimPrefix(name, "schema/")
		number, err := goose.NumericComponent(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "-- %s\n%s\n%s\n\n", file, dsn.Script(string(migration)), strings.ReplaceAll(note.text, "NUMBER", strconv.FormatInt(number, 10)))
	}
	rights, err := d.rights(grants.text, role)
	b.WriteString(rights)
	return b.String(), err
}

// rights writes what is granted, a line for each table where that is said.
func (d *DB) rights(grants, role string) (string, error) {
	tables, err := d.made(math.MaxInt64)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	comment, to := "", d.engine.account(role)
	if role == "" {
		fmt.Fprintf(&b, "-- The rights of who works with %s:\n", d.kit.Name)
		comment, to = "-- ", "reprise_service"
	}
	for line := range strings.Lines(grants + "\n") {
		of := []string{""}
		if strings.Contains(line, "TABLE") {
			of = tables
		}
		for _, table := range of {
			b.WriteString(comment + strings.NewReplacer("TABLE", table, "ROLE", to).Replace(line))
		}
	}
	return b.String() + "\n", nil
}
