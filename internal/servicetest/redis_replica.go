//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Replica starts a replica of the server, with the same options, for this test. It has all that the
// server has when it is returned.
func (s *RedisServer) Replica() *RedisServer {
	s.t.Helper()
	return s.ReplicaThrough(s.Addr())
}

// ReplicaThrough is as Replica, but the replica reaches the server at another address, host:port: that of
// a proxy.
func (s *RedisServer) ReplicaThrough(addr string) *RedisServer {
	s.t.Helper()
	r, err := startReplica(s.redis, addr)
	replica := ownedRedis(s.t, r, err)
	replica.AwaitSync(s)
	return replica
}

func startReplica(master *redis, addr string) (*redis, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	return startRedis(master.options, redisRole{lines: []string{"replicaof " + host + " " + port}, secrets: &master.secrets})
}

// Promote makes a master of a replica. The server that it followed is told nothing.
func (s *RedisServer) Promote() {
	s.t.Helper()
	s.Do("REPLICAOF", "NO", "ONE")
}

// Follow makes the server a replica of the one at addr, host:port, or behind a proxy there. Both must come
// of one Replica, which makes their passwords the same. The server loses what it has, and has got what the
// other has when Follow returns.
func (s *RedisServer) Follow(addr string) {
	s.t.Helper()
	host, port, err := net.SplitHostPort(addr)
	s.check("follow "+addr, err)
	s.Do("REPLICAOF", host, port)
	s.check("follow "+addr, await("the link to the master", s.linked))
}

// HandOver makes a master of a replica and a replica of its master, in an orderly way: nothing that was
// acknowledged is lost.
func (s *RedisServer) HandOver(replica *RedisServer) {
	s.t.Helper()
	host, port, err := net.SplitHostPort(replica.Addr())
	s.check("hand over", err)
	s.check("hand over", await("a replica that is taken for online", func() error {
		_, err := s.try("FAILOVER", "TO", host, port)
		return err
	}))
	s.check("hand over", await("the new master", func() error { return errors.Join(replica.is("master"), s.linked()) }))
}

// Unlink lets a replica hear no more of its master, so that what the master acknowledges from now on is
// lost if the replica takes its place. It goes on to be a replica, and tries in vain to connect.
func (s *RedisServer) Unlink() {
	s.t.Helper()
	s.Config("masterauth", "not the password")
	s.Do("CLIENT", "KILL", "TYPE", "master")
	s.check("unlink", await("the end of the link", func() error {
		info, err := s.glance()
		if err == nil && info["master_link_status"] != "down" {
			err = fmt.Errorf("its link is %s", info["master_link_status"])
		}
		return err
	}))
}

// Relink takes back Unlink. A server that is a replica then has what its master has; one that became a
// master can follow again.
func (s *RedisServer) Relink() {
	s.t.Helper()
	s.Config("masterauth", s.secrets.password)
	s.Do("CONFIG", "REWRITE") // it may have written the other into its configuration
	if s.is("master") != nil {
		s.check("relink", await("the link to the master", s.linked))
	}
}

// AwaitSync waits until the replica has got all that its master has now.
func (s *RedisServer) AwaitSync(master *RedisServer) {
	s.t.Helper()
	has, err := strconv.Atoi(master.Info()["master_repl_offset"])
	s.check("follow", err)
	s.check("follow", await("all that the master has", func() error {
		if err := s.linked(); err != nil {
			return err
		}
		info, err := s.glance()
		if err != nil {
			return err
		}
		got, err := strconv.Atoi(info["slave_repl_offset"])
		if err == nil && got < has {
			err = fmt.Errorf("it has got %d bytes of %d", got, has)
		}
		return err
	}))
}

// linked reports whether a replica is connected to its master and has got what it had.
func (r *redis) linked() error {
	info, err := r.glance()
	if err == nil && (info["role"] != "slave" || info["master_link_status"] != "up") {
		err = fmt.Errorf("it is a %s, and its link is %q", info["role"], info["master_link_status"])
	}
	return err
}

// is reports whether the server has a role: master or slave.
func (r *redis) is(role string) error {
	info, err := r.glance()
	if err == nil && info["role"] != role {
		err = fmt.Errorf("the server is a %s", info["role"])
	}
	return err
}

// glance is what INFO says, of a server that answers within a moment.
func (r *redis) glance() (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	return r.info(ctx)
}
