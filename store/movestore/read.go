package movestore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// The cursors of the two parts of a listing.
const (
	inPrevious = "previous "
	inPrimary  = "primary "
)

// List implements [store.Lister]: each record from the store that governs it, those of the previous store first.
func (s *Store) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if rest, ok := strings.CutPrefix(cursor, inPrimary); ok {
		return s.listPrimary(ctx, filter, rest, limit)
	}
	rest, ok := strings.CutPrefix(cursor, inPrevious)
	if !ok && cursor != "" {
		return store.Page{}, store.BadCursor(cursor)
	}
	page, err := list(ctx, s.pair.previous, filter, rest, limit)
	if err != nil {
		return page, err
	}
	page.Records = slices.DeleteFunc(slices.Clone(page.Records), s.move.isFence)
	if page.Next != "" {
		page.Next = inPrevious + page.Next
	} else {
		page.Next = inPrimary
	}
	return page, nil
}

// listPrimary leaves out copies of what the previous store governs.
func (s *Store) listPrimary(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	page, err := list(ctx, s.pair.primary, filter, cursor, limit)
	if err != nil {
		return page, err
	}
	governed := page.Records[:0:0]
	for _, r := range page.Records {
		reply, err := s.pair.previous.Apply(ctx, machine.Inspect{Scope: r.Scope})
		if err != nil {
			return store.Page{}, err
		}
		if reply.Record == nil || s.move.isFence(reply.Record) {
			governed = append(governed, r)
		}
	}
	if page.Records = governed; page.Next != "" {
		page.Next = inPrimary + page.Next
	}
	return page, nil
}

func list(ctx context.Context, s store.Store, filter store.Filter, cursor string, limit int) (store.Page, error) {
	lister, ok := store.As[store.Lister](s)
	if !ok {
		return store.Page{}, fmt.Errorf("one of the two stores cannot be listed: %w", store.ErrUnsupported)
	}
	return lister.List(ctx, filter, cursor, limit)
}

// Purge implements [store.Purger], for both.
func (s *Store) Purge(ctx context.Context, limit int) (deleted int, err error) {
	if err := store.PurgeLimit(limit); err != nil {
		return 0, err
	}
	for _, each := range []store.Store{s.pair.primary, s.pair.previous} {
		purger, ok := store.As[store.Purger](each)
		if !ok || deleted == limit {
			continue
		}
		n, err := purger.Purge(ctx, limit-deleted)
		if deleted += n; err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// Watch implements [store.Watcher], on the store that governs the record as far as this process has seen.
func (s *Store) Watch(scope machine.Scope, revision uint64) (<-chan struct{}, func()) {
	governing := s.pair.previous
	if s.gone.has(scope.Digest) {
		governing = s.pair.primary
	}
	if watcher, ok := store.As[store.Watcher](governing); ok {
		return watcher.Watch(scope, revision)
	}
	return nil, func() {}
}
