//go:build unix

package servicetest

import (
	"fmt"
	"net"
	"strconv"
)

// SlotMove is a slot on its way to another master. Until its end, the old master answers for the keys that
// it still has, and sends clients on for others (ASK).
type SlotMove struct {
	c        *RedisCluster
	slot     string
	from, to *RedisServer
}

// BeginMove begins to move the slot of a key to another master.
func (c *RedisCluster) BeginMove(key string, to *RedisServer) *SlotMove {
	c.t.Helper()
	m := &SlotMove{c: c, slot: strconv.Itoa(c.Slot(key)), from: c.Master(key), to: to}
	m.to.Do("CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.from.id())
	m.from.Do("CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.to.id())
	return m
}

// MoveKeys moves the keys that the old master has now.
func (m *SlotMove) MoveKeys() {
	m.c.t.Helper()
	host, port, err := net.SplitHostPort(m.to.Addr())
	m.c.check("move keys", err)
	command := []string{"MIGRATE", host, port, "", "0", strconv.FormatInt(patience.Milliseconds(), 10), "AUTH", m.to.secrets.password, "KEYS"}
	for {
		keys, _ := m.from.Do("CLUSTER", "GETKEYSINSLOT", m.slot, "100").([]any)
		if len(keys) == 0 {
			return
		}
		batch := command
		for _, key := range keys {
			batch = append(batch, fmt.Sprint(key))
		}
		if _, err := m.from.try(batch...); err != nil {
			m.c.check("move keys", err)
		}
	}
}

// Finish moves the keys that are left and gives the slot to the new master. All servers know it then.
func (m *SlotMove) Finish() {
	m.c.t.Helper()
	m.MoveKeys()
	owner := m.to.id()
	m.to.Do("CLUSTER", "SETSLOT", m.slot, "NODE", owner) // first: only it may claim a newer configuration
	m.from.Do("CLUSTER", "SETSLOT", m.slot, "NODE", owner)
	m.c.AwaitReady()
}

// id is what a server of a cluster is known by.
func (s *RedisServer) id() string {
	s.t.Helper()
	return fmt.Sprint(s.Do("CLUSTER", "MYID"))
}
