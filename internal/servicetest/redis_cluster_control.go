//go:build unix

package servicetest

import (
	"errors"
	"slices"
)

// AwaitReady waits until all servers that respond say that the cluster is ok and agree on who has which
// slots, and those that are replicas have what their masters have.
func (c *RedisCluster) AwaitReady() {
	c.t.Helper()
	c.view()
}

// AwaitState waits until a server says that its cluster is in a state: "ok" or "fail".
func (c *RedisCluster) AwaitState(node *RedisServer, state string) {
	c.t.Helper()
	c.check("await", await("the state "+state, func() error { return node.says(state) }))
}

// view is what the servers agree on. It waits until they do.
func (c *RedisCluster) view() clusterView {
	c.t.Helper()
	var view clusterView
	c.check("await", await("a cluster that is ok", func() (err error) {
		view, err = c.agreedView()
		return err
	}))
	return view
}

// Slot returns the slot of a key.
func (c *RedisCluster) Slot(key string) int {
	c.t.Helper()
	reply, err := c.ask("CLUSTER", "KEYSLOT", key)
	c.check("ask for a slot", err)
	slot, _ := reply.(int64)
	return int(slot)
}

// ask asks one of the servers that respond.
func (c *RedisCluster) ask(command ...string) (any, error) {
	responding := whichRespond(c.nodes)
	if len(responding) == 0 {
		return nil, errNoneResponds
	}
	return responding[0].ask(command...)
}

// Masters returns the masters that have slots, by the lowest slot of each.
func (c *RedisCluster) Masters() []*RedisServer {
	c.t.Helper()
	var masters []*RedisServer
	for _, r := range c.view() {
		if master := at(c.nodes, r.addresses[0]); !slices.Contains(masters, master) {
			masters = append(masters, master)
		}
	}
	return masters
}

// Master returns the master that has the slot of a key.
func (c *RedisCluster) Master(key string) *RedisServer {
	c.t.Helper()
	return at(c.nodes, c.view().of(c.Slot(key))[0])
}

// Replicas returns the replicas that have the slot of a key.
func (c *RedisCluster) Replicas(key string) []*RedisServer {
	c.t.Helper()
	var replicas []*RedisServer
	for _, address := range c.view().of(c.Slot(key))[1:] {
		replicas = append(replicas, at(c.nodes, address))
	}
	return replicas
}

// Failover makes a replica take the place of the master that has the slot of a key, and returns it when
// the old master follows it. Nothing that was acknowledged is lost.
func (c *RedisCluster) Failover(key string) *RedisServer {
	c.t.Helper()
	old, replicas := c.Master(key), c.Replicas(key)
	if len(replicas) == 0 {
		c.check("fail over", errors.New("the master has no replica"))
	}
	replicas[0].Do("CLUSTER", "FAILOVER")
	master := c.AwaitFailover(key, old)
	c.check("fail over", await("the old master's link", old.linked))
	return master
}

// AwaitFailover waits until another server than old has the slot of a key and all know it, and returns it.
func (c *RedisCluster) AwaitFailover(key string, old *RedisServer) *RedisServer {
	c.t.Helper()
	slot := c.Slot(key)
	var master *RedisServer
	c.check("await", await("another master", func() error {
		view, err := c.agreedView()
		if err != nil {
			return err
		}
		if master = at(c.nodes, view.of(slot)[0]); master == old {
			return errors.New("it is still the same")
		}
		return nil
	}))
	return master
}
