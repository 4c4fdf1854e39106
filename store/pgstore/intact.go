package pgstore

import (
	"context"
	"fmt"

	"github.com/reprise-dev/reprise/store"
)

// look returns the version of the schema, 0 for none. A database whose tables are not those of its version is refused: a
// migration could not begin there, or would have nothing to do.
func (m *migration) look(ctx context.Context) (int64, error) {
	version, err := m.version(ctx, m.db)
	if err != nil {
		return 0, err
	}
	var missing string
	var some bool
	if err := m.db.QueryRowContext(ctx, m.sql.schemaParts, m.address.schema).Scan(&missing, &some); err != nil {
		return 0, err
	}
	if version == 0 && !some || version > 0 && (version < m.status.Latest || version > m.status.Latest+1 || missing == "") {
		return version, nil
	}
	switch again, err := m.version(ctx, m.db); {
	case err != nil:
		return 0, err
	case again != version:
		return again, nil // another process has migrated it in between
	case version == 0:
		return 0, m.unversioned()
	}
	return 0, m.incomplete(version, missing)
}

func (m *migration) unversioned() error {
	return fmt.Errorf("%w: schema %q has tables of a store, and %[2]s.reprise_schema does not say of which version: it was emptied or dropped, or a script has ended half-way. "+
		"Nothing was changed. Restore it from a backup; if the tables are whole, put its rows back as `reprise migrate print` shows them. "+
		"Only if nothing of the store matters: drop the schema, and then `reprise store init --new --store %q`", store.ErrSchema, m.address.schema, m.address)
}

func (m *migration) incomplete(version int64, missing string) error {
	return fmt.Errorf("%w: schema %q is at version %d, and has no %s: somebody has dropped that. Nothing was changed. Stop what uses the store, and restore the schema from a backup: "+
		"without its records and its secret, retries run again. Only if nothing of the store matters: drop the schema, and then `reprise store init --new --store %q`",
		store.ErrSchema, m.address.schema, version, missing, m.address)
}
