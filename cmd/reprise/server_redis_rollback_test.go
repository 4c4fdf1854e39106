package main

import (
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// The whole machine goes back to a backup: Redis to an older dump, and the proxies are started anew. Keys that were answered
// since are in neither, and none of them runs.
func TestRedisAndItsProxyGoBackTogether(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	at := newRedisSiteIn(t, server.DSN(0))
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization", "--admin-listen", "127.0.0.1:0"}
	p := at.startProxy(t, nil, args...)
	p.post("/orders", "before", "before")
	dump := server.Dump()
	load := newCallers(t, p)
	<-load.begun
	answered := load.end()
	stays := at.startProxy(t, nil, args...)
	p.kill()
	server.RestartFrom(dump)

	start := append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)
	for range 2 {
		at.refused(t, "--accept-loss --who NAME --why REASON --store redis://app@", start...)
		at.neverNew(t)
	}
	eventually(t, "the proxy that was not restarted notices", func() bool {
		return stays.post("/orders", quote(answered[0]), answered[0]).problem() == httpguard.ProblemStoreLost
	})
	for _, key := range answered {
		if g := stays.post("/orders", quote(key), key); g.status != 503 || g.problem() != httpguard.ProblemStoreLost {
			t.Errorf("%s: %+v", key, g)
		}
	}
	stays.tellsOfALoss(len(answered))
	up.once(t)

	at.accepted(t)
	again := at.startProxy(t, nil, args...)
	for name, who := range map[string]*proxyProcess{"one that was started": again, "one that stayed": stays} {
		eventually(t, fmt.Sprintf("%s replays what is there", name), func() bool { return who.post("/orders", "before", "before").replayed })
	}
	up.once(t)
}

// One server of a Cluster comes back empty. Its keys stop, and the others go on.
func TestOneServerOfAClusterComesBackEmpty(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{})
	at := newRedisSiteIn(t, cluster.DSN())
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	p := at.startProxy(t, nil, args...)
	load := newCallers(t, p)
	<-load.begun
	answered := load.end()
	lost := cluster.Masters()[2]
	lost.RestartFrom(servicetest.RedisDump{})
	cluster.AwaitReady()
	replayed, refused := 0, 0
	for _, key := range answered {
		eventually(t, key+" is decided", func() bool {
			switch g := p.post("/orders", quote(key), key); {
			case g.replayed:
				replayed++
			case g.problem() == httpguard.ProblemStoreLost:
				refused++
			default:
				return false
			}
			return true
		})
	}
	if replayed == 0 || refused == 0 {
		t.Errorf("%d keys are replayed, %d are refused", replayed, refused)
	}
	up.once(t)
	at.accepted(t)
	eventually(t, "every new key is taken", func() bool {
		for i := range 30 {
			if key := fmt.Sprint("after ", i); p.post("/orders", quote(key), key).status != 200 {
				return false
			}
		}
		return true
	})
	up.once(t)
}
