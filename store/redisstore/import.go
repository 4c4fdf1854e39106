package redisstore

import (
	"context"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Import implements [store.Importer]. Each record is written by a script of its own, many at once. One that is written
// where there is none is sent without a look first.
func (s *Store) Import(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	ctx, leave, err := s.enterForLong(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	at, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	outcomes := make([]store.Import, len(records))
	err = each(ctx, len(records), func(ctx context.Context, i int) error {
		t, since := newTarget(s, records[i].Scope.Digest), s.server()
		outcome, err := s.take(ctx, t, records[i], found{now: at})
		outcomes[i] = outcome
		if err = s.confirm(ctx, t.bucket, since, err); err != nil {
			return s.notice(ctx, t.bucket, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// take imports a record where it expects what was found.
func (s *Store) take(ctx context.Context, t target, imported *machine.Record, f found) (store.Import, error) {
	if t.generation == (machine.Generation{}) {
		return 0, lostBucket(t.bucket)
	}
	for {
		outcome := store.JudgeImport(f.record, imported, f.now)
		if outcome != store.ImportWritten {
			return outcome, nil
		}
		// It is born when it was claimed, so that nothing of its times is lost: they count from then.
		f.birth = imported.Claimed / 1000 * 1000
		done, err := s.swap(ctx, t, f, imported)
		if done || err != nil {
			return outcome, err
		}
		if f, err = s.load(ctx, t, nil); err != nil {
			return 0, err
		}
	}
}
