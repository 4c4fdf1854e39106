package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// List implements [store.Lister]. Records come in the order of their digests, and the cursor is the
// digest of the last one.
func (s *Store) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if err := store.PageLimit(limit); err != nil {
		return store.Page{}, err
	}
	page := store.Page{}
	if err := s.usable(ctx); err != nil {
		return page, err
	}
	after, err := store.DigestCursor(cursor)
	if err != nil {
		return page, err
	}
	page.At = machine.InstantOf(s.now())
	for i := range s.shards {
		s.shards[i].each(func(r *machine.Record) {
			if bytes.Compare(r.Scope.Digest[:], after[:]) > 0 && filter.Match(r, page.At) {
				page.Records = append(page.Records, r)
			}
		})
	}
	slices.SortFunc(page.Records, func(a, b *machine.Record) int {
		return bytes.Compare(a.Scope.Digest[:], b.Scope.Digest[:])
	})
	if len(page.Records) > limit {
		page.Records = page.Records[:limit]
		page.Next = page.Records[limit-1].Scope.Digest.String()
	}
	return page, nil
}

// Count implements [store.Counter].
func (s *Store) Count(ctx context.Context) (store.Counts, error) {
	counts := store.Counts{States: map[machine.State]int64{}}
	if err := s.usable(ctx); err != nil {
		return counts, err
	}
	counts.At = machine.InstantOf(s.now())
	for i := range s.shards {
		s.shards[i].each(func(r *machine.Record) {
			if state, _ := r.Judge(counts.At); state == machine.Absent {
				counts.Due++
			} else {
				counts.States[state]++
			}
		})
	}
	return counts, nil
}

// Purge implements [store.Purger].
func (s *Store) Purge(ctx context.Context, limit int) (int, error) {
	if err := store.PurgeLimit(limit); err != nil {
		return 0, err
	}
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	at, removed := machine.InstantOf(s.now()), 0
	for i := range s.shards {
		removed += s.shards[i].purge(at, limit-removed)
	}
	return removed, nil
}

func (s *shard) each(visit func(*machine.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		visit(r)
	}
}

func (s *shard) purge(at machine.Instant, limit int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	removed := 0
	for digest, r := range s.records {
		if removed >= limit {
			break
		}
		if state, _ := r.Judge(at); state == machine.Absent {
			delete(s.records, digest)
			removed++
		}
	}
	return removed
}
