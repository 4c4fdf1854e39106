package redisstore

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// topologies start what a store can be kept in, each for a test, and return its DSN. Nothing is written to a disk, and no
// master is replaced because the machine is busy: who kills a server asks for one that does, and is.
func topologies() map[string]func(t *testing.T) string {
	node := servicetest.RedisOptions{Persistence: servicetest.PersistNothing}
	return map[string]func(t *testing.T) string{
		"standalone": func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
		"sentinel": func(t *testing.T) string {
			return servicetest.NewSentinel(t, servicetest.SentinelOptions{Node: node, Patience: time.Minute}).DSN()
		},
		"cluster": func(t *testing.T) string {
			return servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: node}).DSN()
		},
	}
}

// onTopologies runs a test on one server, behind Sentinel and in a Cluster.
func onTopologies(t *testing.T, test func(t *testing.T, start func(t *testing.T) string)) {
	t.Helper()
	for topology, start := range topologies() {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}
