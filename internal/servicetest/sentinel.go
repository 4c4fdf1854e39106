//go:build unix

package servicetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"
)

// SentinelName is the name by which sentinels know their master.
const SentinelName = "mymaster"

// sentinelCount is how many sentinels there are; sentinelQuorum of them decide.
const (
	sentinelCount  = 3
	sentinelQuorum = 2
)

// SentinelOptions say what the servers of [NewSentinel] are like.
type SentinelOptions struct {
	// Replicas is how many replicas the master has; 0 is one.
	Replicas int
	// Patience is for how long a server must not answer before it is replaced; 0 is a second, which a busy machine may
	// fail to answer in. Who does not look at failures asks for more.
	Patience time.Duration
	// Node is what each server is like. The sentinels have its TLS, and no password.
	Node RedisOptions
}

// Sentinel is a Redis master with replicas, and three sentinels that replace it when it does not answer
// for a time. One that fails makes the test fail.
type Sentinel struct {
	t         testing.TB
	servers   []*RedisServer
	sentinels []*RedisServer
}

// NewSentinel starts a master, its replicas and three sentinels for this test. All of them know each other
// when it returns.
func NewSentinel(t testing.TB, o SentinelOptions) *Sentinel {
	t.Helper()
	master := NewRedis(t, o.Node)
	s := &Sentinel{t: t, servers: []*RedisServer{master}}
	replicas := startTogether(t, max(o.Replicas, 1), func() (*redis, error) { return startReplica(master.redis, master.Addr()) })
	s.servers = append(s.servers, replicas...)
	s.sentinels = startTogether(t, sentinelCount, func() (*redis, error) { return startSentinel(master.redis, cmp.Or(o.Patience, time.Second)) })
	s.AwaitReady()
	return s
}

func startSentinel(master *redis, patience time.Duration) (*redis, error) {
	_, port, err := net.SplitHostPort(master.address())
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %s %d", SentinelName, port, sentinelQuorum),
		fmt.Sprintf("sentinel auth-pass %s %s", SentinelName, master.secrets.password),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", SentinelName, patience.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s 3000", SentinelName),
	}
	role := redisRole{sentinel: true, lines: lines, secrets: &master.secrets}
	return startRedis(RedisOptions{TLS: master.options.TLS}, role)
}

// sentinelHaste are periods of sentinels in milliseconds, of which most are seconds by themselves. Two have a
// meaning beside. What a sentinel knows of a replica counts for five ping periods, and once the master is
// down it asks every second: it must know of one to choose. A server that has said for four publish
// periods that it is a master is made a replica again: by then a sentinel must have heard that it was
// promoted. A busy machine is no reason to tilt.
var sentinelHaste = []string{
	"ping-period", "400", "info-period", "200", "publish-period", sentinelPublishPeriod, "ask-period", "100",
	"min-link-reconnect-period", "100", "tilt-trigger", "10000",
}

const sentinelPublishPeriod = "1000"

// answersInHaste is as answers, for a sentinel, which is told to be quick.
func (r *redis) answersInHaste(ctx context.Context) error {
	if err := r.answers(ctx); err != nil {
		return err
	}
	_, err := r.execute(ctx, append([]string{"SENTINEL", "DEBUG"}, sentinelHaste...)...)
	return err
}

// Servers returns the servers that have data, in the order of their start.
func (s *Sentinel) Servers() []*RedisServer { return s.servers }

// Sentinels returns the sentinels. They can be killed, paused and asked like servers.
func (s *Sentinel) Sentinels() []*RedisServer { return s.sentinels }

// DSN returns redis+sentinel://user:password@sentinel,sentinel,sentinel/mymaster/0, or rediss+sentinel://…
// with TLS, for a user of the servers without rights of administration.
func (s *Sentinel) DSN() string { return s.dsn(redisUser) }

// AdminDSN is the DSN of a user who may do everything.
func (s *Sentinel) AdminDSN() string { return s.dsn(redisAdmin) }

func (s *Sentinel) dsn(user string) string {
	u := groupDSN("sentinel", s.servers[0], user, s.sentinels)
	u.Path = "/" + SentinelName + "/0"
	return u.String()
}

// CA is the path of the certificate that TLS is verified with; empty without TLS.
func (s *Sentinel) CA() string { return s.servers[0].CA() }

// Master returns the server that all running sentinels name and that says so itself. It waits until there
// is one.
func (s *Sentinel) Master() *RedisServer {
	s.t.Helper()
	return s.await("the master", nil)
}

// Replicas returns the others of the servers, those too that do not run.
func (s *Sentinel) Replicas() []*RedisServer {
	s.t.Helper()
	return without(s.servers, s.Master())
}

// AwaitFailover waits until another server than old is the master, and returns it.
func (s *Sentinel) AwaitFailover(old *RedisServer) *RedisServer {
	s.t.Helper()
	return s.await("another master", old)
}

// Failover makes sentinels replace a master that works, and returns the new one when the old one follows
// it. What the old one acknowledged last may be lost.
func (s *Sentinel) Failover() *RedisServer {
	s.t.Helper()
	old := s.Master()
	s.check("fail over", await("a fail-over that is begun", func() error {
		responding := whichRespond(s.sentinels)
		if len(responding) == 0 {
			return errNoneResponds
		}
		_, err := responding[0].ask("SENTINEL", "FAILOVER", SentinelName)
		return err
	}))
	master := s.AwaitFailover(old)
	s.AwaitReady()
	return master
}

// AwaitReady waits until all servers and sentinels, which must run, know each other, and all servers
// follow the master.
func (s *Sentinel) AwaitReady() {
	s.t.Helper()
	master := s.Master()
	s.publish("100") // they agree, so that haste does no harm now
	defer s.publish(sentinelPublishPeriod)
	s.check("await", await("replicas that follow the master", func() error {
		for _, replica := range without(s.servers, master) {
			if err := replica.linked(); err != nil {
				return err
			}
		}
		return nil
	}))
	s.check("await", await("sentinels that know everything", func() error {
		for _, sentinel := range s.sentinels {
			if err := s.knowsAll(sentinel); err != nil {
				return err
			}
		}
		return nil
	}))
}

// publish sets how often sentinels tell each other what they know, in milliseconds.
func (s *Sentinel) publish(period string) {
	s.t.Helper()
	for _, sentinel := range whichRespond(s.sentinels) {
		sentinel.Do("SENTINEL", "DEBUG", "publish-period", period)
	}
}

// knowsAll reports whether a sentinel knows the others and all servers, and thinks well of them.
func (s *Sentinel) knowsAll(sentinel *RedisServer) error {
	reply, err := sentinel.ask("SENTINEL", "MASTER", SentinelName)
	if err != nil {
		return err
	}
	master := pairs(reply)
	if master["flags"] != "master" || master["num-other-sentinels"] != strconv.Itoa(len(s.sentinels)-1) {
		return fmt.Errorf("a sentinel knows %s others, and says of the master: %s", master["num-other-sentinels"], master["flags"])
	}
	reply, err = sentinel.ask("SENTINEL", "REPLICAS", SentinelName)
	replicas, _ := reply.([]any)
	if err == nil && len(replicas) != len(s.servers)-1 {
		err = fmt.Errorf("a sentinel knows %d replicas", len(replicas))
	}
	for _, replica := range replicas {
		if said := pairs(replica); said["flags"] != "slave" || said["master-link-status"] != "ok" {
			err = errors.Join(err, fmt.Errorf("a sentinel says of a replica: %s, link %s", said["flags"], said["master-link-status"]))
		}
	}
	return err
}

// await waits for a master that is not the old one.
func (s *Sentinel) await(what string, old *RedisServer) *RedisServer {
	s.t.Helper()
	var master *RedisServer
	err := await(what, func() (err error) {
		if master, err = s.agreed(); err == nil && master == old {
			err = errors.New("it is still the same")
		}
		return err
	})
	if err != nil {
		s.t.Fatalf("servicetest: Sentinel: %v", err)
	}
	return master
}

// agreed returns the server that all running sentinels name, if it says itself that it is the master.
func (s *Sentinel) agreed() (*RedisServer, error) {
	var named *RedisServer
	for _, sentinel := range whichRespond(s.sentinels) {
		reply, err := sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SentinelName)
		if err != nil {
			return nil, err
		}
		host, _ := reply.([]any)
		if len(host) != 2 {
			return nil, fmt.Errorf("a sentinel named %v", reply)
		}
		server := at(s.servers, fmt.Sprintf("%v:%v", host[0], host[1]))
		if server == nil || named != nil && server != named {
			return nil, errors.New("the sentinels do not agree")
		}
		named = server
	}
	if named == nil {
		return nil, errNoneResponds
	}
	return named, named.is("master")
}

func (s *Sentinel) check(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("servicetest: Sentinel: %s: %v", what, err)
	}
}
