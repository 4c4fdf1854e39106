package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

func nothing() {}

// A meter on a Redis Cluster does what one on a single Redis does: all that a deduction changes is in one slot, the shared allowance as well (case M21).
func TestMeterOnACluster(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
	at := &meterSite{t, t.TempDir(), cluster.DSN(), servicetest.Postgres(t).Database(t)}
	must(t, "migrate", "up", "--ledger", at.sql)
	const events = 1000
	f := newFire(t, at, events)
	f.send(events, func() { f.kill(events) })
	f.drain()
	cluster.AwaitReady()
	f.check()
}

// A Redis that goes back, to an older dump or by failing over and back, decides nothing until it was hydrated, and it is said why.
// Then everything that was sent counts once.
func TestMeterOnARedisThatGoesBack(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (dsn string, lose func(use func()) *servicetest.RedisServer){
		"an older dump": func(t *testing.T) (string, func(func()) *servicetest.RedisServer) {
			server := servicetest.NewRedis(t, servicetest.RedisOptions{})
			return server.DSN(0), func(use func()) *servicetest.RedisServer {
				dump := server.Dump()
				use()
				server.RestartFrom(dump)
				return server
			}
		},
		"a failover and back": func(t *testing.T) (string, func(func()) *servicetest.RedisServer) {
			group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
			return group.DSN(), func(use func()) *servicetest.RedisServer {
				master, replica := group.Master(), group.Replicas()[0]
				replica.AwaitSync(master)
				replica.Unlink()
				use()
				master.Pause()
				group.AwaitFailover(master)
				replica.Relink()
				master.Resume()
				group.AwaitReady()
				if group.Failover() != master {
					t.Fatal("it is not the same server again")
				}
				return master
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, lose := start(t)
			at := &meterSite{t, t.TempDir(), dsn, servicetest.Postgres(t).Database(t)}
			must(t, "migrate", "up", "--ledger", at.sql)
			f := newFire(t, at, 500)
			f.send(200, nothing)
			f.drain()
			server := lose(func() {
				f.send(300, nothing)
				f.drain()
			})
			f.refuses(server)
			at.says(exitDone, "the gate is open", "hydrate")
			f.answers(http.StatusAccepted, f.sent[0])
			for part := f.sent; len(part) > 0; part = part[min(len(part), trafficBatch):] {
				if err := f.traffic.deliver(t.Context(), part[:min(len(part), trafficBatch)]); err != nil {
					t.Fatal(err)
				}
			}
			f.send(100, nothing)
			f.drain()
			f.check()
		})
	}
}

// refuses looks whether both processes notice that Redis has gone back, and whether nothing was decided there.
func (f *fire) refuses(server *servicetest.RedisServer) {
	f.t.Helper()
	before := versions(f.t, server)
	probe := f.traffic.event(0, "probe", time.Now())
	f.sent = append(f.sent, probe)
	f.answers(http.StatusServiceUnavailable, probe)
	eventually(f.t, "it is said why", func() bool {
		out := f.site.must("show", "line", probe.Line)
		return strings.Contains(out, "nothing is decided") && strings.Contains(out, "store_lost")
	})
	if n, err := f.parts.decided(f.t.Context(), []meter.Event{probe}); n != 0 || err != nil {
		f.t.Errorf("%d was decided, %v", n, err)
	}
	if after := versions(f.t, server); after != before {
		f.t.Errorf("versions were\n%s and are\n%s", before, after)
	}
}

// answers waits until both processes answer an event with a status.
func (f *fire) answers(status int, event meter.Event) {
	f.t.Helper()
	for _, address := range f.addresses {
		p := &proxyProcess{t: f.t, address: address}
		eventually(f.t, fmt.Sprintf("%s answers %d", address, status), func() bool {
			return p.post("/v1/usage", "", string(event.AppendJSON(nil))).status == status
		})
	}
}

// versions are the changes of all lines and families, as Redis has them.
func versions(t *testing.T, server *servicetest.RedisServer) string {
	t.Helper()
	keys, ok := server.Do("KEYS", "version:*").([]any)
	if !ok || len(keys) == 0 {
		t.Fatal("there are no versions")
	}
	var all strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&all, key, server.Do("GET", fmt.Sprint(key)))
	}
	return all.String()
}

// A process is stopped with what it has decided, and Redis is hydrated meanwhile. When it goes on its rows are refused, and the
// events are decided again.
func TestMeterProcessIsPausedWithRows(t *testing.T) {
	t.Parallel()
	at := newMeterSite(t, servicetest.Postgres(t).Database(t))
	u, err := url.Parse(at.sql)
	if err != nil {
		t.Fatal(err)
	}
	proxy := faultnet.New(t, u.Host, faultnet.Postgres())
	// In the way of a PgBouncer each statement is sent with its text.
	f := newFireThrough(t, at, at.redis, changed(t, proxy.Through(at.sql), func(u *url.URL) {
		query := u.Query()
		query.Set("pgbouncer", "1")
		u.RawQuery = query.Encode()
	}), 1, 300)
	f.send(100, nothing)
	f.drain()
	release := make(chan struct{})
	proxy.SetPlan(faultnet.Every("meter_generation IN ROW SHARE MODE", faultnet.HeldUntil(release))) // how an append begins
	f.send(30, nothing)
	eventually(t, "all are decided", func() bool { return f.changes() == int64(len(f.sent)) })
	stopped := f.serving[0].cmd.Process
	if err := stopped.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	at.says(exitDone, "the gate is open", "hydrate", "--renew", "--why", "it was lost")
	if n, err := f.parts.decided(t.Context(), f.sent); err != nil || n != 100 {
		t.Errorf("%d are in the done log, %v", n, err)
	}
	proxy.SetPlan(faultnet.None)
	close(release)
	if err := stopped.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	f.drain()
	f.check()
	if printed := f.serving[0].printed(); !strings.Contains(printed, "of an older generation") {
		t.Errorf("nothing was refused:\n%s", printed)
	}
}
