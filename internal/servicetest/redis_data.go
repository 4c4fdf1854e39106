//go:build unix

package servicetest

import (
	"errors"
	"os"
	"path/filepath"
)

// Names of files in the data folder of a Redis server.
const (
	redisSnapshot = "dump.rdb"
	redisAppended = "appendonly.aof" // where it was before Redis 7, which still looks for it there
	redisNodes    = "nodes.conf"     // what a server knows of its cluster
)

// RedisDump is what a Redis server had at some time. The zero value is nothing.
type RedisDump struct{ snapshot []byte }

// Dump returns what the server has now.
func (s *RedisServer) Dump() RedisDump {
	s.t.Helper()
	s.Do("SAVE")
	path := filepath.Join(s.data(), redisSnapshot)
	snapshot, err := os.ReadFile(path)
	if err == nil && s.options.Persistence == PersistNothing {
		err = os.Remove(path) // it is not to remember that
	}
	s.check("dump", err)
	return RedisDump{snapshot}
}

// RestartFrom kills the server if it runs, and starts it with the data of a dump instead of its own: like
// one that was restored from a backup or, with RedisDump{}, one that lost everything. A server of a
// cluster still knows the cluster.
func (s *RedisServer) RestartFrom(dump RedisDump) {
	s.t.Helper()
	if s.shared || s.d.running() {
		s.Kill() // which refuses to kill one that others use
	}
	if !s.shared {
		s.check("restart from a dump", s.replaceData(dump))
		s.Restart()
	}
}

func (r *redis) replaceData(dump RedisDump) error {
	old, err := os.ReadDir(r.data())
	if err != nil {
		return err
	}
	for _, entry := range old {
		if entry.Name() != redisNodes {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.data(), entry.Name())))
		}
	}
	if dump.snapshot == nil {
		return err
	}
	// A server with an append-only file reads that alone; one may begin with a snapshot.
	for _, name := range []string{redisSnapshot, redisAppended} {
		path := filepath.Join(r.data(), name)
		err = errors.Join(err, os.WriteFile(path, dump.snapshot, 0o600), r.folder.account.own(path))
	}
	return err
}
