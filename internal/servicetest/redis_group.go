//go:build unix

package servicetest

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// startTogether starts servers at the same time, for this test.
func startTogether(t testing.TB, n int, start func() (*redis, error)) []*RedisServer {
	t.Helper()
	started, failed := make([]*redis, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { started[i], failed[i] = start() })
	}
	all.Wait()
	var servers []*RedisServer
	for i, r := range started {
		if failed[i] == nil {
			servers = append(servers, ownedRedis(t, r, nil))
		}
	}
	for _, err := range failed {
		give(t, err)
	}
	return servers
}

// groupDSN is a DSN that names several servers: redis+kind://user:password@host,host, or rediss+kind.
// The password is that of a member.
func groupDSN(kind string, member *RedisServer, user string, named []*RedisServer) *url.URL {
	u := member.dsn(user, 0)
	var hosts []string
	for _, server := range named {
		hosts = append(hosts, server.Addr())
	}
	return &url.URL{Scheme: u.Scheme + "+" + kind, User: u.User, Host: strings.Join(hosts, ",")}
}

// without returns the servers except for one.
func without(servers []*RedisServer, one *RedisServer) []*RedisServer {
	return slices.DeleteFunc(slices.Clone(servers), func(s *RedisServer) bool { return s == one })
}

// at returns the server at an address, or nil.
func at(servers []*RedisServer, address string) *RedisServer {
	i := slices.IndexFunc(servers, func(s *RedisServer) bool { return s.Addr() == address })
	if i < 0 {
		return nil
	}
	return servers[i]
}

// errNoneResponds is why nobody can be asked.
var errNoneResponds = errors.New("none of the servers runs, or all are paused")

// whichRespond returns the servers that run and are not paused.
func whichRespond(servers []*RedisServer) []*RedisServer {
	return slices.DeleteFunc(slices.Clone(servers), func(s *RedisServer) bool { return !s.d.responds() })
}

// pairs returns a reply that alternates names and values.
func pairs(reply any) map[string]string {
	list, _ := reply.([]any)
	named := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		named[name], _ = list[i+1].(string)
	}
	return named
}
