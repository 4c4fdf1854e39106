package main

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// One server of a Cluster is gone with its data, and comes back empty. The restore says what it waits for, and goes on.
func TestRestoreOfAClusterWithAServerDown(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
	s := newRestoreSiteIn(t, cluster.DSN(), 100)
	s.call(0, "verify").has("all equal")
	node := cluster.Nodes()[0]
	node.Kill()
	s.call(exitUnreadable, "assess").has("unreachable", "nobody listens there", node.Addr())
	ended := make(chan said, 1)
	go func() { ended <- s.call(0, "start") }()
	eventually(t, "the status says what is waited for", func() bool {
		_, text := s.ask("status")
		return strings.Contains(text, node.Addr())
	})
	node.Restart()
	(<-ended).has("complete, verified, and the gate is open")
	s.call(0, "verify").has("all equal")
}
