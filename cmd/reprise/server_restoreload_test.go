package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterhttp"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterrestore/restoretest"
)

// sender sends events to one process, one batch after the other, until it is stopped. What is not acknowledged is sent again with the
// same ids.
type sender struct {
	fire    *fire
	name    string
	address string

	mu      sync.Mutex
	acked   []meter.Event // told that they were accepted, in that order
	durable int           // how many of them were told that they are in SQL
	turned  int           // how many requests were answered 429 or 503
	refused []string      // lines that were refused, of which there should be none
}

// batchOfSender is how many events it sends at once.
const batchOfSender = 10

// run sends until stop is closed, and what it has begun to its end.
func (s *sender) run(ctx context.Context, stop <-chan struct{}) {
	began, made := time.Now(), 0
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		batch := make([]meter.Event, batchOfSender)
		for i := range batch {
			batch[i] = s.fire.traffic.event(made, s.name, time.Now())
			made++
		}
		for len(batch) > 0 && ctx.Err() == nil {
			if batch = s.post(batch); len(batch) > 0 {
				wait(ctx, 50*time.Millisecond)
			}
		}
		s.fire.traffic.pace(ctx, began, made)
	}
}

// post sends events once, and returns those that were not acknowledged.
func (s *sender) post(batch []meter.Event) (left []meter.Event) {
	var body strings.Builder
	for _, e := range batch {
		body.Write(append(e.AppendJSON(nil), '\n'))
	}
	request, err := http.NewRequestWithContext(s.fire.t.Context(), http.MethodPost, "http://"+s.address+"/v1/usage", strings.NewReader(body.String()))
	if err != nil {
		return batch
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	g := fetch(http.DefaultClient, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.status != http.StatusOK && g.status != http.StatusAccepted {
		if g.status == http.StatusTooManyRequests || g.status == http.StatusServiceUnavailable {
			s.turned++
		}
		return batch
	}
	in := json.NewDecoder(strings.NewReader(g.body))
	for _, e := range batch {
		var r meterhttp.Result
		switch err := in.Decode(&r); {
		case err == nil && r.Accepted:
			if s.acked = append(s.acked, e); r.Durable {
				s.durable++
			}
		case err == nil && r.Problem != nil && r.Problem.Reason != "":
			s.refused = append(s.refused, string(r.Problem.Reason)+": "+r.Problem.Detail)
		default:
			left = append(left, e)
		}
	}
	return left
}

// sent returns what was acknowledged so far, and how many requests were turned away.
func (s *sender) sent() (acked []meter.Event, turned int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acked), s.turned
}

// more waits until so many more events are acknowledged.
func (s *sender) more(events int) {
	s.fire.t.Helper()
	before, _ := s.sent()
	eventually(s.fire.t, s.name+" goes on", func() bool {
		now, _ := s.sent()
		return len(now) >= len(before)+events
	})
}

// rowless returns which of some events have no row.
func (f *fire) rowless(events []meter.Event) (without []meter.Event) {
	f.t.Helper()
	for part := range slices.Chunk(events, meterledger.MaxBatch) {
		var ids []meterledger.Identity
		for _, e := range part {
			ids = append(ids, meterledger.Identity{Line: e.Line, Event: e.ID})
		}
		found, err := f.parts.ledger.LookupDone(f.t.Context(), ids)
		if err != nil {
			f.t.Fatal(err)
		}
		for i, e := range part {
			if _, ok := found[ids[i]]; !ok {
				without = append(without, e)
			}
		}
	}
	return without
}

// newLoadedFire is a meter of two processes on a Redis of its own, and senders to them, of which the second has durable intake. SQL
// is behind a proxy, and has so many lines more, of which nothing is sent.
func newLoadedFire(t *testing.T, server *servicetest.RedisServer, rate float64, lines int) (f *fire, usual, durable *sender, proxy *faultnet.Proxy) {
	t.Helper()
	at := &meterSite{t, t.TempDir(), server.DSN(1), servicetest.Postgres(t).Database(t)}
	must(t, "migrate", "up", "--ledger", at.sql)
	if err := restoretest.Populate(t.Context(), at.sql, lines); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(at.sql)
	if err != nil {
		t.Fatal(err)
	}
	proxy = faultnet.New(t, u.Host, faultnet.Postgres())
	// In the way of a PgBouncer each statement is sent with its text.
	f = newFireThrough(t, at, at.redis, with(t, proxy.Through(at.sql), "pgbouncer", "1"), 1, 1000)
	f.traffic.rate, f.traffic.tally.Refused = rate, map[meter.Reason]int64{}
	if found := regexp.MustCompile(`(\d+) events, `).FindStringSubmatch(at.must("audit")); found != nil {
		f.earlier, _ = strconv.Atoi(found[1]) // digits alone
	}
	p := startServing(t, at.dir, []string{"REPRISE_METER_DURABLE=true"}, "meter", "serve", "--config", servingConfig, "--listen", "127.0.0.1:0")
	return f, &sender{fire: f, name: "usual", address: f.addresses[0]}, &sender{fire: f, name: "durable", address: p.address}, proxy
}

// restoreCall runs `reprise restore` on the meter.
func (f *fire) restoreCall(args ...string) {
	f.t.Helper()
	if c := call(f.t, "", append(append([]string{"restore"}, args...), "--config", f.site.path("meter.yaml"))...); c.code != exitDone {
		f.t.Errorf("reprise restore %s: exit code %d: %s%s", strings.Join(args, " "), c.code, c.out, c.err)
	}
}

// Redis is emptied while two processes take in usage, and one command restores it while the senders go on. What was acknowledged as
// durable counts once, without anybody's help. What was acknowledged otherwise has gone with its stream or counts once, and counts
// once when all of it is sent again.
func TestRestoreUnderLoad(t *testing.T) {
	t.Parallel()
	rate, phase, lines := 150.0, 150, 200
	if proving() {
		rate, phase, lines = 500, 2_000, 1_000_000
	}
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	f, usual, durable, proxy := newLoadedFire(t, server, rate, lines)
	both, stop := []*sender{usual, durable}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, s := range both {
		group.Go(func() { s.run(ctx, stop) })
	}
	var once sync.Once
	end := func() { once.Do(func() { close(stop); group.Wait() }) }
	defer end()
	defer cancel() // a sender whose process answers no more would try for ever
	for _, s := range both {
		s.more(phase)
	}

	// SQL is slow with rows while Redis is emptied: some events are decided without a row, others wait in streams and inbox.
	release := make(chan struct{})
	proxy.SetPlan(faultnet.Every("meter_generation IN ROW SHARE MODE", faultnet.HeldUntil(release)))
	for _, s := range both {
		s.more(phase)
	}
	var underWay [][]meter.Event
	for _, s := range both {
		acked, _ := s.sent()
		underWay = append(underWay, f.rowless(acked))
	}
	server.FlushAll()
	for n, s := range both {
		if left := f.rowless(underWay[n]); len(left) == 0 {
			t.Errorf("%s: nothing was under way", s.name)
		}
	}
	proxy.SetPlan(faultnet.None)
	close(release)

	before, _ := durable.sent()
	f.restoreCall("start", "--why", "Redis was emptied")
	if after, _ := durable.sent(); len(after) == len(before) {
		t.Error("nothing was acknowledged as durable during the restore")
	}
	if _, turned := usual.sent(); turned == 0 {
		t.Error("nothing was turned away")
	}
	atOpening, _ := usual.sent()
	for _, s := range both {
		s.more(phase)
	}
	end()
	f.afterLoad(usual, durable, len(atOpening))
}

// afterLoad looks whether all counts once, first as it is, and then when the events were sent again that were not durable.
func (f *fire) afterLoad(usual, durable *sender, atOpening int) {
	t := f.t
	t.Helper()
	for _, s := range []*sender{usual, durable} {
		if s.refused != nil {
			t.Errorf("%s: refused: %q", s.name, s.refused)
		}
	}
	if usual.durable != 0 || durable.durable != len(durable.acked) {
		t.Errorf("durable: %d of %d, and %d of %d", usual.durable, len(usual.acked), durable.durable, len(durable.acked))
	}
	// What somebody took from the inbox, and could not decide, is taken again when its lease ends.
	execute(t, f.site.sql, "UPDATE reprise.meter_inbox SET available_at = 0")
	f.all("what is durable", durable.acked)
	f.all("what came after the restore", usual.acked[atOpening:])
	f.drain() // what has no row now gets none by itself
	lost := f.rowless(usual.acked)
	if len(lost) == 0 {
		t.Error("no stream was lost")
	}
	f.sent = append(slices.Clone(durable.acked), usual.acked...)
	t.Logf("%d events durable, %d not, of which %d were lost with their streams", len(durable.acked), len(usual.acked), len(lost))
	for part := range slices.Chunk(usual.acked[:atOpening], trafficBatch) { // whoever sends does not know which
		if err := f.traffic.deliver(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	f.drain()
	f.all("what was sent again", f.sent)
	f.check()
	f.restoreCall("verify", "--patience", "1s")
}

// all waits until events have rows.
func (f *fire) all(what string, events []meter.Event) {
	f.t.Helper()
	eventually(f.t, what+" has a row each", func() bool {
		n, err := f.parts.decided(f.t.Context(), events)
		return err == nil && n == len(events)
	})
}
