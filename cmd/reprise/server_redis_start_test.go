package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// A planned failover is shown to have lost nothing. The proxy goes on by itself, and its log says so.
func TestRedisFailsOverAsPlanned(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1, Node: servicetest.RedisOptions{Users: map[string]string{"app": documentedRule(t)}}})
	at := newRedisSiteIn(t, cluster.DSN())
	up := newCounting(t)
	p := at.startProxy(t, nil, "--upstream", up.URL, "--principal", "authorization")
	keys := make([]string, 30) // on all servers
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
		if g := p.post("/orders", quote(keys[i]), keys[i]); g.status != 200 {
			t.Errorf("%s: %+v", keys[i], g)
		}
	}
	cluster.Failover("reprise:{0000}:secrets")
	for _, key := range keys {
		eventually(t, key+" is replayed", func() bool { return p.post("/orders", quote(key), key).replayed })
	}
	up.once(t)
	p.await("reprise: a planned failover of Redis is accepted")
}

// A primary dies under two processes, whose replicas have confirmed all that was answered. The processes go on by
// themselves, and no key runs twice.
func TestRedisFailsOverWithReplicasThatConfirm(t *testing.T) {
	t.Parallel()
	node := servicetest.RedisOptions{Users: map[string]string{"app": documentedRule(t)}}
	sentinel := servicetest.NewSentinel(t, servicetest.SentinelOptions{Replicas: 2, Node: node})
	at := newRedisSiteIn(t, with(t, with(t, sentinel.DSN(), "wait", "1"), "replicas", "2"))
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	proxies := []*proxyProcess{at.startProxy(t, nil, args...), at.startProxy(t, nil, args...)}
	master := sentinel.Master()
	eventually(t, "both replicas are known", func() bool {
		known, _ := master.Do("GET", "reprise:{0000}:replicas").(string)
		return len(strings.Fields(known)) == 2
	})
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var answered []string
	var clients sync.WaitGroup
	for i, p := range proxies {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d of %d", n, i)
				if g := p.post("/orders", quote(key), key); g.status == 200 {
					mu.Lock()
					answered = append(answered, key)
					mu.Unlock()
				}
			}
		})
	}
	more := func(when string) {
		mu.Lock()
		before := len(answered)
		mu.Unlock()
		eventually(t, "requests are answered "+when, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(answered) > before+20
		})
	}
	more("before")
	master.Kill()
	sentinel.AwaitFailover(master)
	more("after the failover")
	stop()
	clients.Wait()
	for i, key := range answered {
		eventually(t, key+" is replayed", func() bool { return proxies[i%2].post("/orders", quote(key), key).replayed })
	}
	up.once(t)
	if !strings.Contains(proxies[0].printed()+proxies[1].printed(), "reprise: a failover of Redis is accepted") {
		t.Error("neither process says that it has accepted the failover")
	}
}

// documentedRule is what docs/operating.md gives to the user of a service.
func documentedRule(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(readFile(t, "../../docs/operating.md")) {
		if _, rule, ok := strings.Cut(strings.TrimSpace(line), "ACL SETUSER reprise on >PASSWORD "); ok {
			return rule
		}
	}
	t.Fatal("docs/operating.md gives no rule")
	return ""
}

// On one server with TLS, behind Sentinel and in a Cluster processes share records. The documented rights are
// enough for all commands.
func TestRedisTopologies(t *testing.T) {
	t.Parallel()
	node := servicetest.RedisOptions{Users: map[string]string{"app": documentedRule(t)}}
	encrypted := node
	encrypted.TLS = true
	onStores(t, map[string]func(t *testing.T) *site{
		"TLS": func(t *testing.T) *site {
			server := servicetest.NewRedis(t, encrypted)
			return newRedisSiteIn(t, with(t, server.DSN(1), "ca", server.CA()))
		},
		"Sentinel": func(t *testing.T) *site {
			return newRedisSiteIn(t, servicetest.NewSentinel(t, servicetest.SentinelOptions{Node: node, Patience: time.Minute}).DSN())
		},
		"Cluster": func(t *testing.T) *site {
			return newRedisSiteIn(t, servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1, Node: node}).DSN())
		},
	}, func(t *testing.T, at *site) {
		up := newCounting(t)
		args := []string{"--upstream", up.URL, "--principal", "authorization"}
		first, second := at.startProxy(t, nil, args...), at.startProxy(t, nil, args...)
		for i := range 20 {
			key := fmt.Sprint("key ", i)
			if g := first.post("/orders", quote(key), key); g.status != 200 || g.replayed {
				t.Errorf("%s: %+v", key, g)
			}
			if g := second.post("/orders", quote(key), key); !g.replayed || up.of(key) != 1 {
				t.Errorf("%s at the other process: %+v", key, g)
			}
		}
		if c := at.accepted(t); !strings.Contains(c.out, "no bucket was lost") {
			t.Errorf("accepted: %s", c.out)
		}
		if out := first.printed() + second.printed(); strings.Contains(out, "NOPERM") || strings.Contains(out, passwordOf(t, at.dsn)) {
			t.Errorf("printed:\n%s", out)
		}
	})
}

// The documented rights are all that is ever needed: Redis notes what somebody had no right to, and it notes nothing.
func TestRedisRights(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Users: map[string]string{"app": documentedRule(t)}})
	at := newRedisSiteIn(t, server.DSN(0))
	up, arrived, answer := held(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	wait := []string{"REPRISE_DUPLICATES=wait 60s"}
	first, second := at.startProxy(t, wait, args...), at.startProxy(t, wait, args...)
	var callers sync.WaitGroup
	callers.Go(func() { first.post("/orders", "one", "book") })
	<-arrived
	callers.Go(func() {
		if g := second.post("/orders", "one", "book"); !g.replayed || g.body != "made" {
			t.Errorf("who waited: %+v", g)
		}
	})
	eventually(t, "somebody waits for the answer", func() bool {
		subscribers, ok := server.Do("PUBSUB", "NUMSUB", "reprise:changes").([]any)
		return ok && len(subscribers) == 2 && subscribers[1] != int64(0)
	})
	answer()
	callers.Wait()
	for _, command := range []string{"list", "stats", "purge"} {
		at.must(t, "ops", command)
	}
	at.must(t, "ops", "list", "--state", "abandoned")
	at.accepted(t)
	if noted, ok := server.Do("ACL", "LOG").([]any); !ok || len(noted) != 0 {
		t.Errorf("there was no right to: %v", noted)
	}
}

// A Redis with which nobody gets on is refused by every command, which says what to do.
func TestRedisThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Users: map[string]string{"blind": "~* -@all +@read +@write +@connection +@scripting -@dangerous +time"}})
	dsn := server.DSN(0)
	for name, c := range map[string]struct{ dsn, want string }{
		"nobody listens": {changed(t, dsn, func(u *url.URL) { u.Host = "127.0.0.1:1" }), "check that Redis runs"},
		"wrong password": {changed(t, dsn, func(u *url.URL) { u.User = url.UserPassword("app", password) }), "user, password"},
		"no password":    {changed(t, dsn, func(u *url.URL) { u.User = nil }), "user, password"},
		"no database":    {changed(t, dsn, func(u *url.URL) { u.Path = "/99999" }), "database"},
		"no rights":      {server.UserDSN("blind", 0), "NOPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			at := newServerSite(t, c.dsn)
			for _, args := range [][]string{proxyLine, {"ops", "list"}, {"store", "init", "--new"}, {"store", "init", "--accept-loss", "--who", "ann", "--why", "seen"}} {
				at.refused(t, c.want, args...)
			}
		})
	}
	if size := server.Do("DBSIZE"); size != int64(0) {
		t.Errorf("%v keys were written", size)
	}
}
