package database

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/store"
)

// look is status, and refuses a database whose tables are not those of its version: a migration could not begin there, or would have
// nothing to do.
func (d *DB) look(ctx context.Context) (SchemaStatus, error) {
	before, noted, err := d.noted(ctx)
	if err != nil {
		return before, err
	}
	there, err := d.tables(ctx)
	if err != nil {
		return before, err
	}
	all, err := d.made(before.Latest)
	if err != nil {
		return before, err
	}
	wanted, err := d.made(before.Version)
	if err != nil {
		return before, err
	}
	absent := func(name string) bool { return !slices.Contains(there, name) }
	unversioned := slices.ContainsFunc(all, func(name string) bool { return !absent(name) }) && (!noted || before.Version == 0 && d.engine.atomic())
	missing := slices.DeleteFunc(wanted, func(name string) bool { return !absent(name) })
	if before.Version > before.Latest+1 { // nobody knows here what it is made of
		missing = nil
	}
	if !unversioned && len(missing) == 0 {
		return before, nil
	}
	after, notedNow, err := d.noted(ctx)
	switch {
	case err != nil || after != before || notedNow != noted: // another process has migrated it in between
		return after, err
	case unversioned:
		return after, fmt.Errorf("%w: there are tables of %s, and %s does not say of which version: it was emptied or dropped. Nothing was changed. Restore it from a backup, with its rows",
			store.ErrSchema, d.kit.Name, d.kit.Versions)
	}
	return after, fmt.Errorf("%w: %s's tables are at version %d, and there is no %s: somebody has dropped it, or this user cannot see it. Nothing was changed. Stop what uses the database, and restore it from a backup",
		store.ErrSchema, d.kit.Name, after.Version, strings.Join(missing, ", "))
}

// tables returns the names of all tables, also of those that are not the kit's.
func (d *DB) tables(ctx context.Context) (names []string, err error) {
	rows, err := d.db.QueryContext(ctx, d.sql.tables.text, d.engine.place())
	if err != nil {
		return nil, store.Unavailable(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, store.Unavailable(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return nil, store.Unavailable(err)
	}
	return names, nil
}

// making finds the tables that a migration makes.
var making = regexp.MustCompile(`(?m)^CREATE TABLE (?:IF NOT EXISTS )?(?:\w+\.)?(\w+)`)

// made returns the tables that migrations up to a version make.
func (d *DB) made(version int64) (tables []string, err error) {
	names, err := fs.Glob(d.files(), "schema/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		number, err := goose.NumericComponent(strings.TrimPrefix(name, "schema/"))
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(d.files(), name)
		if err != nil {
			return nil, err
		}
		for _, found := range making.FindAllStringSubmatch(string(text), -1) {
			if number <= version {
				tables = append(tables, found[1])
			}
		}
	}
	return tables, nil
}
