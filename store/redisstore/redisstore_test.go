package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

// older is a standalone server that is treated as one before Redis 7.
const older = "older"

func TestConformance(t *testing.T) {
	t.Parallel()
	all := topologies()
	all[older] = all["standalone"]
	for topology, start := range all {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			dsn := start(t)
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				d := databaseOn(t, dsn)
				t.Cleanup(d.empty)
				d.options.older = topology == older
				return storetest.Harness{
					Open: func() (store.Store, error) {
						s, err := Open(t.Context(), d.dsn, d.options)
						return whole{s}, err
					},
					Advance: d.advance,
					Fades:   true, Sampled: topology != "standalone",
				}
			})
		})
	}
}

// whole is a store whose listings are complete: the suite compares them.
type whole struct{ *Store }

// List is [Store.List] where no server is replaced and nothing else keeps a listing from being complete.
func (w whole) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if cursor == "" {
		if err := w.sweep(ctx, func(time.Duration) bool { return true }); err != nil {
			return store.Page{}, err
		}
	}
	page, err := w.Store.List(ctx, filter, cursor, limit)
	page.Partial = false
	return page, err
}
