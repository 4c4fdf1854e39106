package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// A failover loses what was acknowledged, and a failover back does not bring it again, though it ends at the same process
// with the same run id. Keys that were answered are refused under the running proxy, and none runs again; what it counts
// and logs says so; and it goes on when somebody accepts the loss.
func TestRedisFailsOverAndLosesAnswers(t *testing.T) {
	t.Parallel()
	for topology, start := range map[string]func(t *testing.T) *redisGroup{"Sentinel": newSentinelGroup, "Cluster": newClusterGroup} {
		t.Run(topology+" and back", func(t *testing.T) {
			t.Parallel()
			losesAnswers(t, start(t), (*redisGroup).andBack)
		})
		if proving() { // half of the above, but that the old one stays dead
			t.Run(topology, func(t *testing.T) {
				t.Parallel()
				losesAnswers(t, start(t), (*redisGroup).forGood)
			})
		}
	}
}

// losesAnswers lets a group replace its master twice, or once, by others that lack some answers.
func losesAnswers(t *testing.T, group *redisGroup, failovers func(g *redisGroup) []func()) {
	at := newRedisSiteIn(t, group.dsn)
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization", "--admin-listen", "127.0.0.1:0"}
	p := at.startProxy(t, nil, args...)
	kept := p.answers("kept", 30)
	group.replica.AwaitSync(group.master)
	group.replica.Unlink()
	lost := p.answers("lost", 60)
	refusals := 0
	for i, failover := range failovers(group) {
		failover()
		n := p.refuses(lost)
		if n == 0 || (n < len(lost)) != group.others {
			t.Errorf("after failover %d: %d keys of %d were refused", i+1, n, len(lost))
		}
		refusals += n
	}
	up.once(t)
	p.tellsOfALoss(refusals)

	at.accepted(t)
	for name, who := range map[string]*proxyProcess{"one that stayed": p, "one that was started": at.startProxy(t, nil, args...)} {
		for _, key := range kept {
			eventually(t, name+" replays "+key, func() bool { return who.post("/orders", quote(key), key).replayed })
		}
		for i := range 10 {
			key := fmt.Sprint("after ", i)
			eventually(t, name+" takes "+key, func() bool { return who.post("/orders", quote(key), key).status == 200 })
		}
	}
	up.once(t)
}

// redisGroup is a group of servers that replaces a master which does not answer.
type redisGroup struct {
	t               *testing.T
	dsn             string
	master, replica *servicetest.RedisServer
	others          bool                                     // it has other masters, with records of their own
	replaced        func(old *servicetest.RedisServer)       // waits until the master is another one
	ready           func()                                   // waits until all follow it
	failover        func() (master *servicetest.RedisServer) // replaces one that works
}

func newSentinelGroup(t *testing.T) *redisGroup {
	t.Helper()
	group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
	return &redisGroup{
		t: t, dsn: group.DSN(), master: group.Master(), replica: group.Replicas()[0],
		replaced: func(old *servicetest.RedisServer) { group.AwaitFailover(old) }, ready: group.AwaitReady, failover: group.Failover,
	}
}

func newClusterGroup(t *testing.T) *redisGroup {
	t.Helper()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1})
	master := cluster.Masters()[2]
	key := "" // of a slot that it has
	for i := 0; cluster.Master(key) != master; i++ {
		key = fmt.Sprint("key ", i)
	}
	return &redisGroup{
		t: t, dsn: cluster.DSN(), master: master, replica: cluster.Replicas(key)[0], others: true,
		replaced: func(old *servicetest.RedisServer) { cluster.AwaitFailover(key, old) }, ready: cluster.AwaitReady,
		failover: func() *servicetest.RedisServer { return cluster.Failover(key) },
	}
}

// forGood is the failover after which the old master stays dead.
func (g *redisGroup) forGood() []func() {
	return []func(){func() { g.master.Kill(); g.replaced(g.master) }}
}

// andBack are two failovers: the master is paused, becomes a replica of its successor, and then the master again.
func (g *redisGroup) andBack() []func() {
	run := g.master.Info()["run_id"]
	return []func(){
		func() { g.master.Pause(); g.replaced(g.master) },
		func() {
			g.replica.Relink()
			g.master.Resume()
			g.ready()
			if g.failover() != g.master || g.master.Info()["run_id"] != run {
				g.t.Fatal("it is not the same process again")
			}
		},
	}
}

// answers has new keys answered, and returns them.
func (p *proxyProcess) answers(name string, n int) (keys []string) {
	p.t.Helper()
	for i := range n {
		key := fmt.Sprint(name, " ", i)
		if g := p.post("/orders", quote(key), key); g.status != 200 || g.replayed {
			p.t.Fatalf("%s: %+v", key, g)
		}
		keys = append(keys, key)
	}
	return keys
}

// refuses asks for keys that were answered, until each is replayed or refused for the loss, and returns how many are refused.
func (p *proxyProcess) refuses(keys []string) (lost int) {
	p.t.Helper()
	for _, key := range keys {
		eventually(p.t, key+" is decided", func() bool {
			g := p.post("/orders", quote(key), key)
			switch {
			case g.problem() == httpguard.ProblemStoreLost:
				if lost++; g.status != 503 || g.retryAfter == "" {
					p.t.Errorf("%s: %+v", key, g)
				}
				return true
			case g.status == 200 && !g.replayed:
				p.t.Fatalf("%s was answered, and ran again", key)
			}
			return g.replayed
		})
	}
	return lost
}

// tellsOfALoss fails where the counters of a process, which has an admin port, or its log do not tell of so many refusals.
func (p *proxyProcess) tellsOfALoss(refusals int) {
	p.t.Helper()
	metrics := p.adminGet("/metrics").body
	for _, counter := range []string{`reprise_requests_total{outcome="store-lost",route="/"} `, `reprise_store_duration_seconds_count{error_type="lost",reprise_command="begin"} `} {
		_, rest, _ := strings.Cut(metrics, "\n"+counter)
		text, _, _ := strings.Cut(rest, "\n")
		if n, err := strconv.Atoi(text); err != nil || n < refusals {
			p.t.Errorf("%q after %s, for %d refusals, in:\n%s", text, counter, refusals, metrics)
		}
	}
	if !strings.Contains(p.printed(), "--accept-loss --who NAME --why REASON --store redis") {
		p.t.Errorf("the log does not say the next step:\n%s", p.printed())
	}
}
