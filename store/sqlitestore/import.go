package sqlitestore

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Import implements [store.Importer]. All records are written in one transaction.
func (s *Store) Import(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	outcomes := make([]store.Import, len(records))
	err := s.do(ctx, func(t *transaction, now time.Time) (err error) {
		for i, r := range records {
			if outcomes[i], err = t.take(r, machine.InstantOf(now)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// take imports a record. It is tried as an insert at first, as most are.
func (t *transaction) take(imported *machine.Record, at machine.Instant) (store.Import, error) {
	own := *imported
	own.Generation = machine.Generation{}
	outcome := store.JudgeImport(nil, &own, at)
	if outcome != store.ImportWritten {
		return outcome, nil
	}
	if inserted, err := t.insert(&own); inserted || err != nil {
		return outcome, err
	}
	there, err := t.find(own.Scope.Digest)
	if err != nil {
		return 0, err
	}
	if outcome = store.JudgeImport(there.record, &own, at); outcome != store.ImportWritten {
		return outcome, nil
	}
	return outcome, t.update(there.id, &own)
}
