package main

import (
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
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

// A key of a line in a bucket that is not the line's, as a move that is not in an older dump leaves it, is on another server than the number of the
// line's changes. It is put right all the same, and undone.
func TestCorrectionInAClusterOfAKeyInAnotherBucket(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
	s := newRestoreSiteIn(t, cluster.DSN(), 20)
	key := "daily_total_usage:{0001}:line-1:" + meter.Calendar{}.Day(time.Now()).String()
	cluster.Master(key).Do("SET", key, "5")
	s.call(0, "verify", "--correct").has("corrected", key)
	s.call(0, "verify").has("all equal")
	s.call(0, "undo").has("1 put back")
	s.call(exitDifferent, "verify").has("extra", key)
}
