package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

// older is a standalone server that is treated as one before Redis 7.
const older = "older"

func TestConformance(t *testing.T) {
	t.Parallel()
	for topology, start := range map[string]func(t *testing.T) string{
		"standalone": func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
		older:        func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
		"sentinel": func(t *testing.T) string {
			node := servicetest.RedisOptions{Persistence: servicetest.PersistNothing} // a disk would be waited for twice
			return servicetest.NewSentinel(t, servicetest.SentinelOptions{Node: node}).DSN()
		},
		"cluster": func(t *testing.T) string {
			return servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{}).DSN()
		},
	} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			dsn := start(t)
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				more := ""
				if topology == "sentinel" { // it has a replica
					more = "&wait=1&replicas=1"
				}
				d := databaseOn(t, dsn, more)
				d.options.older = topology == older
				return storetest.Harness{
					Open: func() (store.Store, error) {
						s, err := Open(t.Context(), d.dsn, d.options)
						return whole{s}, err
					},
					Advance: d.advance,
					Fades:   true,
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
