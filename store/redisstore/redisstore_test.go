package redisstore

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for topology, start := range map[string]func(t *testing.T) string{
		"standalone": func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
		"sentinel":   func(t *testing.T) string { return servicetest.NewSentinel(t, servicetest.SentinelOptions{}).DSN() },
		"cluster": func(t *testing.T) string {
			return servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{}).DSN()
		},
	} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			dsn := start(t)
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				d := databaseOn(t, dsn)
				return storetest.Harness{
					Open: func() (store.Store, error) {
						s, err := Open(t.Context(), d.dsn, d.options)
						return noted{s, d}, err
					},
					Advance: d.advance,
					Fades:   true,
				}
			})
		})
	}
}
