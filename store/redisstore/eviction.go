package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// noEviction is the policy of a Redis that refuses writes when its memory is full. Under every other one it throws keys
// away: a record that is gone, while its bucket keeps its generation, makes its key look new.
const noEviction = "noeviction"

// evictionOf reads the policy that a DSN accepts.
func evictionOf(value string) (string, error) {
	policies := []string{noEviction, "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"}
	if !slices.Contains(policies, value) {
		return "", fmt.Errorf("eviction=%s in the store's DSN: one of %s expected, the maxmemory-policy of the server", value, strings.Join(policies, ", "))
	}
	return value, nil
}

// tolerates returns what is wrong with a server's policy. One that does not say what its policy is has the benefit
// of the doubt.
func (d DSN) tolerates(policy string) error {
	if policy == "" || policy == noEviction || policy == d.eviction {
		return nil
	}
	return fmt.Errorf("the maxmemory-policy of this Redis is %s: when its memory is full it throws records away, unnoticed, and their keys run again. "+
		"Set it: `CONFIG SET maxmemory-policy %s`, and in its configuration. Who puts up with it says eviction=%s in the DSN", policy, noEviction, policy)
}

// checkServers refuses primaries that the store cannot be kept on, and learns what their versions need.
func (s *Store) checkServers(ctx context.Context) error {
	nodes, err := s.primaries(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := s.dialer.dsn.tolerates(n.eviction); err != nil {
			return err
		}
		s.older = s.older || n.older()
	}
	s.scripts = newScripts(s.older)
	if s.dialer.crowd != nil {
		s.dialer.crowd.modern.Store(!s.older)
	}
	return nil
}
