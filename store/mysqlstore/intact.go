package mysqlstore

import (
	"context"
	"fmt"

	"github.com/reprise-dev/reprise/store"
)

// look returns the version of the schema, 0 for none. A database whose tables are not those of its version is refused. One in which a
// migration was interrupted is not: goose's first note is there before the first table.
func (m *migration) look(ctx context.Context) (int64, error) {
	version, noted, err := m.noted(ctx)
	if err != nil {
		return 0, err
	}
	var missing string
	var tables int
	if err := m.db.QueryRowContext(ctx, m.sql.schemaParts.with()).Scan(&missing, &tables); err != nil {
		return 0, err
	}
	if noted && (version < m.status.Latest || version > m.status.Latest+1 || missing == "") || !noted && tables == 0 {
		return version, nil
	}
	switch again, notedNow, err := m.noted(ctx); {
	case err != nil:
		return 0, err
	case again != version || notedNow != noted:
		return again, nil // another process has migrated it in between
	case !noted:
		return 0, m.unversioned()
	}
	return 0, m.incomplete(version, missing)
}

func (m *migration) unversioned() error {
	return fmt.Errorf("%w: the database has tables of a store, and %s does not say of which version: it was emptied or dropped. "+
		"Nothing was changed. Restore it from a backup; if the tables are whole, put its rows back as `reprise migrate print` shows them. "+
		"Only if nothing of the store matters: drop the tables reprise_…, and then `reprise store init --new --store %q`", store.ErrSchema, versionsTable, m.dsn)
}

func (m *migration) incomplete(version int64, missing string) error {
	return fmt.Errorf("%w: the tables are at version %d, and there is no %s: somebody has dropped it, or this user cannot see it. Nothing was changed. Stop what uses the store, "+
		"and restore it from a backup: without its records and its secret, retries run again. "+
		"Only if nothing of the store matters: drop the tables reprise_…, and then `reprise store init --new --store %q`", store.ErrSchema, version, missing, m.dsn)
}
