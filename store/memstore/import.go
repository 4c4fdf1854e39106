package memstore

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Import implements [store.Importer].
func (s *Store) Import(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]store.Import, len(records))
	for i, r := range records {
		outcomes[i] = s.shard(r.Scope.Digest).take(r, s.now)
	}
	return outcomes, nil
}

func (s *shard) take(imported *machine.Record, now func() time.Time) store.Import {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest := imported.Scope.Digest
	outcome := store.JudgeImport(s.records[digest], imported, machine.InstantOf(now()))
	if outcome == store.ImportWritten {
		copied := *imported
		copied.Generation = machine.Generation{}
		s.records[digest] = &copied
		s.wake(digest)
	}
	return outcome
}
