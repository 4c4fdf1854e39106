package storetest

import (
	"errors"
	"math"

	"github.com/reprise-dev/reprise/store"
)

// runLimits lists and purges with limits under which there can be no page and no purge. They are refused, and nothing
// is done.
func runLimits(d *database) {
	due := newCaller(d.scope("due"), "holder")
	completed(d, due)
	d.advance(remember)
	staying := newCaller(d.scope("staying"), "holder")
	completed(d, staying)
	if l, ok := store.As[store.Lister](d.store); ok {
		for _, limit := range []int{0, -1, math.MinInt} {
			if page, err := l.List(d.Context(), store.Filter{}, "", limit); len(page.Records) > 0 || !errors.Is(err, store.ErrLimit) {
				d.Errorf("listed %d records of at most %d: %v", len(page.Records), limit, err)
			}
		}
	}
	purger, ok := store.As[store.Purger](d.store)
	if !ok {
		return
	}
	for _, limit := range []int{-1, math.MinInt} {
		if n, err := purger.Purge(d.Context(), limit); n != 0 || !errors.Is(err, store.ErrLimit) {
			d.Errorf("purged %d of at most %d: %v", n, limit, err)
		}
	}
	if n, err := purger.Purge(d.Context(), 0); n != 0 || err != nil {
		d.Errorf("purged %d of at most 0: %v", n, err)
	}
	if d.inspect(staying.claim.Scope) == nil {
		d.Error("a record is gone that was not due")
	}
}
