//go:build unix

package servicetest

import (
	"fmt"
	"net"
	"strconv"
	"testing"
)

// redisSlots is how many slots a cluster has; clusterMasters is how many masters share them at first.
const (
	redisSlots     = 16384
	clusterMasters = 3
)

// RedisClusterOptions say what [NewRedisCluster] starts.
type RedisClusterOptions struct {
	// Replicas is how many replicas each of the three masters has; 0 is none.
	Replicas int
	// Node is what each server is like. Its setting cluster-node-timeout is 2000 milliseconds unless set.
	Node RedisOptions
}

// RedisCluster is a cluster of Redis servers, at first three masters with a third of the slots each, and
// their replicas. One that fails makes the test fail.
type RedisCluster struct {
	t     testing.TB
	nodes []*RedisServer
}

// NewRedisCluster starts a cluster for this test. All of its servers say that it is ok when it returns.
func NewRedisCluster(t testing.TB, o RedisClusterOptions) *RedisCluster {
	t.Helper()
	ownRedis(t)
	lines := []string{"cluster-enabled yes", "cluster-config-file " + redisNodes}
	if o.Node.Settings["cluster-node-timeout"] == "" {
		lines = append(lines, "cluster-node-timeout 2000")
	}
	r, err := startRedis(o.Node, redisRole{bus: true, lines: lines})
	first := ownedRedis(t, r, err)
	rest := startTogether(t, clusterMasters*(1+o.Replicas)-1, func() (*redis, error) {
		return startRedis(o.Node, redisRole{bus: true, lines: lines, secrets: &first.secrets})
	})
	c := &RedisCluster{t: t, nodes: append([]*RedisServer{first}, rest...)}
	c.check("make the cluster", c.form())
	c.AwaitReady()
	return c
}

// form makes a cluster of servers that do not know each other: the first ones are the masters.
func (c *RedisCluster) form() error {
	for i, node := range c.nodes {
		if _, err := node.try("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i < clusterMasters {
			if _, err := node.try(append([]string{"CLUSTER", "ADDSLOTS"}, share(i)...)...); err != nil {
				return err
			}
		}
	}
	if err := await("servers that know each other", c.introduce); err != nil {
		return err
	}
	for i, node := range c.nodes[clusterMasters:] {
		id, err := c.nodes[i%clusterMasters].try("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		err = await("a replica that knows its master", func() error {
			_, err := node.try("CLUSTER", "REPLICATE", id.(string))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// introduce makes the first server meet those that do not know all others yet, and reports whether there
// are any. A meeting that a busy machine lets time out leaves no trace, so it is asked for again.
func (c *RedisCluster) introduce() error {
	var missing error
	for i, node := range c.nodes {
		known, err := node.knownNodes()
		if err != nil {
			return err
		}
		if known == len(c.nodes) {
			continue
		}
		missing = fmt.Errorf("%s knows %d of %d servers", node.Addr(), known, len(c.nodes))
		if i == 0 {
			continue
		}
		host, port, err := net.SplitHostPort(node.Addr())
		if err != nil {
			return err
		}
		if _, err := c.nodes[0].ask("CLUSTER", "MEET", host, port); err != nil {
			return err
		}
	}
	return missing
}

// share returns the slots of the i-th master.
func share(i int) []string {
	var slots []string
	for slot := i * redisSlots / clusterMasters; slot < (i+1)*redisSlots/clusterMasters; slot++ {
		slots = append(slots, strconv.Itoa(slot))
	}
	return slots
}

// Nodes returns all servers in the order of their start: at first masters, then replicas.
func (c *RedisCluster) Nodes() []*RedisServer { return c.nodes }

// DSN returns redis+cluster://user:password@node,node,…, or rediss+cluster://… with TLS, for a user without
// rights of administration.
func (c *RedisCluster) DSN() string {
	return groupDSN("cluster", c.nodes[0], redisUser, c.nodes).String()
}

// AdminDSN is the DSN of a user who may do everything.
func (c *RedisCluster) AdminDSN() string {
	return groupDSN("cluster", c.nodes[0], redisAdmin, c.nodes).String()
}

// CA is the path of the certificate that TLS is verified with; empty without TLS.
func (c *RedisCluster) CA() string { return c.nodes[0].CA() }

func (c *RedisCluster) check(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("servicetest: Redis cluster: %s: %v", what, err)
	}
}
