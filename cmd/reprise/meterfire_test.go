package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/meter"
)

// fire is a meter of two processes under load, of which one is killed again and again.
type fire struct {
	t         *testing.T
	site      *meterSite // without what goes wrong
	parts     *meterParts
	traffic   *traffic
	addresses []string
	serving   []*child
	sent      []meter.Event
	earlier   int // events that were in the done log before
	kills     int
}

// servingConfig is the file of the processes that serve.
const servingConfig = "serving.yaml"

// newFire fills a meter for so many events, and starts two processes.
func newFire(t *testing.T, at *meterSite, events int) *fire {
	t.Helper()
	return newFireThrough(t, at, at.redis, at.sql, 2, events)
}

// newFireThrough starts so many processes, which reach Redis and SQL by DSNs that may lead through proxies.
func newFireThrough(t *testing.T, at *meterSite, redis, sql string, processes, events int) *fire {
	t.Helper()
	lines := max(60, events/20)
	f := &fire{t: t, site: at, traffic: &traffic{
		prefix: "fire-", lines: lines, families: max(3, lines/10/perFamily), duplicates: 0.05, late: 0.02, retention: 48 * time.Hour,
	}}
	// Only what happens in the first second after the hydration is looked up in SQL before it is decided.
	text := "redis: %s\nledger: %s\nretention: 2d\ntolerance: 1s\ntake-over: 1s\nlog: {format: json}\n"
	writeFile(t, at.path("meter.yaml"), fmt.Sprintf(text, at.redis, at.sql))
	writeFile(t, at.path(servingConfig), fmt.Sprintf(text, redis, sql))
	f.open()
	f.populate()
	eventually(t, "Redis is hydrated", func() bool { // a Cluster on a busy machine may be down for a moment
		c := at.meter("hydrate")
		if c.code != exitDone {
			t.Logf("hydrate: %s", c.err)
		}
		return c.code == exitDone
	})
	if err := f.parts.openRedis(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.serving = make([]*child, processes)
	for n := range f.serving {
		address, err := freeAddress()
		if err != nil {
			t.Fatal(err)
		}
		f.addresses = append(f.addresses, address)
		f.traffic.urls = append(f.traffic.urls, "http://"+address)
		f.start(n)
	}
	t.Cleanup(func() {
		for _, c := range f.serving {
			c.kill()
		}
	})
	return f
}

// open opens SQL, and lets Redis be.
func (f *fire) open() {
	file := f.site.path("meter.yaml")
	c, err := config.LoadMeter(config.Sources{File: file, YAML: []byte(readFile(f.t, file))}, keyRedis, keyLedger)
	if err == nil {
		f.parts, err = openLedger(f.t.Context(), c, newLogger(f.t.Output(), c.Log))
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := f.parts.close(); err != nil {
			f.t.Error(err)
		}
	})
}

// populate makes lines and families, and settings of each policy.
func (f *fire) populate() {
	_, lines, apps := f.traffic.household()
	ctx, ledger := f.t.Context(), f.parts.ledger
	if err := f.parts.enroll(ctx, f.traffic); err != nil {
		f.t.Fatal(err)
	}
	var hours []string
	for hour := range 24 {
		hours = append(hours, fmt.Sprintf("%02d:00-%02d:03", hour, hour))
	}
	policies, err := ledger.Policies(ctx, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	put := func(line string, id meter.PolicyID, seen int64, text string) {
		var settings []meter.Field
		for setting := range strings.SplitSeq(text, ";") {
			name, value, _ := strings.Cut(setting, "=")
			settings = append(settings, meter.Field{Name: name, Value: value})
		}
		if _, err := ledger.PutPolicy(ctx, line, id, seen, settings, "test"); err != nil {
			f.t.Fatalf("policy %v: %v", id, err)
		}
	}
	for id, text := range map[meter.PolicyID]string{
		meter.BlockedHours: "hours=" + strings.Join(hours, ","), meter.LineCap: "cap=3000000", meter.AppCap: "cap:*=900000",
		meter.AppSpeed: "qos=64;speed:" + apps[2] + "=512", meter.SharedCap: "cap=700000", meter.Uncounted: "app:free=yes",
	} {
		put("", id, policies.Global.Get(id).Version(), text)
	}
	put(lines[1].ID, meter.LineBlocked, 0, "blocked=yes")
	put(lines[2].ID, meter.Uncounted, 0, "app:"+apps[1]+"=yes")
	put(lines[3].ID, meter.SharedCap, 0, "cap=5000")
	put(lines[len(lines)-1].ID, meter.LineCap, 0, "cap=100000")
}

// start starts the process of a number. One whose first connections are cut is started again, as whoever keeps it running does.
func (f *fire) start(n int) {
	f.t.Helper()
	for range 20 {
		c := &child{name: fmt.Sprintf("meter-%d", n+1), log: f.site.path(fmt.Sprintf("meter-%d.log", n+1)), ended: make(chan struct{})}
		out, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			f.t.Fatal(err)
		}
		c.cmd = exec.Command(os.Args[0], "demo", "child", "--", "meter", "serve", "--config", servingConfig, "--listen", f.addresses[n])
		c.cmd.Dir, c.cmd.Env = f.site.dir, programEnv()
		c.cmd.Stdout, c.cmd.Stderr = out, out
		if c.stdin, err = c.cmd.StdinPipe(); err == nil {
			err = c.cmd.Start()
		}
		if _ = out.Close(); err != nil { // the child has it
			f.t.Fatal(err)
		}
		go func() {
			defer close(c.ended)
			_ = c.cmd.Wait() // how it ended is in its log
		}()
		if f.serving[n] = c; f.ready(c, f.addresses[n]) {
			return
		}
		c.kill()
	}
	f.t.Fatalf("process %d does not start; it printed:\n%s", n+1, f.serving[n].printed())
}

// ready waits until a process answers, or has ended. It takes connections before it has opened its databases.
func (f *fire) ready(c *child, address string) bool {
	if c.accepts(f.t.Context(), address) != nil {
		return false
	}
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return fetch(http.DefaultClient, r).status == http.StatusOK
}

// send sends events, and meanwhile does something else.
func (f *fire) send(events int, meanwhile func()) {
	f.t.Helper()
	f.traffic.events = events
	var err error
	var sent []meter.Event
	done := make(chan struct{})
	go func() {
		defer close(done)
		sent, err = f.traffic.send(f.t.Context())
	}()
	meanwhile()
	if <-done; err != nil {
		f.t.Fatal(err)
	}
	f.sent = append(f.sent, sent...)
}

// kill kills a process some time after so many events began to be sent, and starts it again. One that was gone by itself is a fault.
func (f *fire) kill(events int) {
	wait(f.t.Context(), time.Duration(rand.IntN(events))*100*time.Microsecond) // about as long as they take at most
	n := f.kills % len(f.serving)
	f.serving[n].kill()
	if ended, ok := f.serving[n].cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ended.Signal() != syscall.SIGKILL {
		f.t.Errorf("process %d was not killed: it had ended with %v; it printed:\n%s", n+1, f.serving[n].cmd.ProcessState, f.serving[n].printed())
	} else {
		f.kills++
	}
	f.start(n)
}

// drain waits until all that was sent is decided, as long as it goes on.
func (f *fire) drain() {
	f.t.Helper()
	streams, err := f.parts.meter.OpenStreams(f.t.Context(), f.parts.config.StreamLimit)
	if err != nil {
		f.t.Fatal(err)
	}
	for least := int64(-1); least != 0; {
		eventually(f.t, fmt.Sprintf("%d events are under way, and then less", least), func() bool {
			n, err := streams.Waiting(f.t.Context())
			if err != nil || least >= 0 && n >= least {
				return false
			}
			least = n
			return true
		})
	}
}

// changes returns how many events are decided in Redis, whether SQL has them or not.
func (f *fire) changes() (total int64) {
	f.t.Helper()
	_, lines, _ := f.traffic.household()
	for _, line := range lines {
		n, _, err := f.parts.meter.LineVersion(f.t.Context(), line.ID, line.Family)
		if err != nil {
			f.t.Fatal(err)
		}
		total += n
	}
	return total
}

// check looks whether each event has one row, and whether all balances follow from them.
func (f *fire) check() {
	f.t.Helper()
	decided, err := f.parts.decided(f.t.Context(), f.sent)
	if err != nil || decided != len(f.sent) {
		f.t.Errorf("%d of %d events are in the done log, %v: %s", decided, len(f.sent), err, f.site.must("dead-letters", "list"))
	}
	f.site.says(exitDone, fmt.Sprintf(" %d events, ", f.earlier+len(f.sent)), "audit") // no more than those, and nobody more than was granted
	f.site.says(exitDone, "there are no dead letters", "dead-letters", "list")
}

// Events are sent to two processes, some twice, some late; one of them is killed again and again, connections to Redis are cut at
// random, and all policies have settings. At every check each event is in the done log once, and all balances follow from that. There
// is a kill for each part of the events, and a good part of the cuts that the chance promises.
func TestMeterUnderFire(t *testing.T) {
	t.Parallel()
	events, atOnce, check, oneOf := 2000, 500, 2000, 2000
	if proving() {
		events, atOnce, check, oneOf = 2_000_000, 10_000, 100_000, 20_000
	}
	onSomeLedger(t, func(t *testing.T, at *meterSite) {
		u, err := url.Parse(at.redis)
		if err != nil {
			t.Fatal(err)
		}
		proxy := faultnet.New(t, u.Host, faultnet.Redis())
		f := newFireThrough(t, at, proxy.Through(at.redis), at.sql, 2, events)
		proxy.SetPlan(faultnet.Random(rand.Uint64(), oneOf, faultnet.RequestLost(), faultnet.RequestCut(), faultnet.ReplyLost(), faultnet.ReplyCut()))
		for len(f.sent) < events {
			if f.send(atOnce, func() { f.kill(atOnce) }); len(f.sent)%check == 0 {
				f.drain()
				f.check()
			}
		}
		cuts, likely := proxy.Struck(), proxy.Requests()/oneOf
		t.Logf("%d events: %d kills, %d connections cut, %d were likely", len(f.sent), f.kills, cuts, likely)
		if parts := events / atOnce; f.kills < parts {
			t.Errorf("%d kills in %d parts", f.kills, parts)
		}
		if likely < 8 || cuts < likely/4 {
			t.Errorf("%d connections were cut, and %d were likely", cuts, likely)
		}
	})
}
