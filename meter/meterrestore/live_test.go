package meterrestore

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// While events are decided and SQL takes in no rows, a verification that corrects says unflushed of their units and gives nothing
// back. What is damaged elsewhere it puts right. When SQL has the rows, all is equal.
func TestCorrectBesideAStalledFlusher(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 12)
	stop := p.work()
	defer stop()
	p.send(p.events(60))
	plan := p.plan()
	plan.Patience = 300 * time.Millisecond
	r := restore.New(p.sessions(), plan, restore.Options{Name: "test"})

	release := p.stall(ctx)
	var events []meter.Event
	for _, e := range p.events(80) {
		if e.Line != "line-11" && e.Line != "line-9" {
			events = append(events, e)
		}
	}
	before := p.contents()
	if _, err := p.intake.Accept(ctx, time.Now(), events); err != nil {
		t.Fatal(err)
	}
	decided := p.decided(before, len(events))
	conn := p.conn()
	key := "remaining_indiv_amount:" + meterredis.UnitBucket("line-11", "") + ":line-11:" + meter.Calendar{}.Month(time.Now()).String()
	right := conn.hash(key)
	conn.do("HSET", key, "amount", "1")

	found, done := p.check(r, true)
	if found[key] != restore.Corrected || done.Findings[restore.Unflushed] == 0 || int(done.Findings[restore.Unflushed])+1 != len(found) {
		t.Errorf("beside a stalled flusher: %v, %+v", found, done)
	}
	for item, outcome := range found {
		if outcome == restore.Unflushed && strings.Contains(item, "line-11") {
			t.Errorf("%s is %s", item, outcome)
		}
	}
	if is := conn.hash(key); !maps.Equal(is, right) {
		t.Errorf("put right it is %v, and was %v", is, right)
	}
	if diff := difference(decided, p.contents()); diff != "" {
		t.Errorf("verification changed what was decided: %s", diff)
	}
	release()
	p.send(events)
	if found, _ := p.check(r, true); len(found) > 0 {
		t.Errorf("in the end: %v", found)
	}
}

// stall keeps SQL from taking in rows, until release.
func (p *plant) stall(ctx context.Context) (release func()) {
	p.t.Helper()
	conn, err := pgx.Connect(ctx, p.dsn)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE reprise.meter_done IN SHARE MODE"); err != nil {
		p.t.Fatal(err)
	}
	return func() { p.must(conn.Close(context.WithoutCancel(ctx))) }
}

// decided waits until so many events are decided, and returns what Redis holds then.
func (p *plant) decided(before map[string]meterredis.Content, events int) map[string]meterredis.Content {
	p.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		now := p.contents()
		if changes(now)-changes(before) >= int64(events) {
			return p.contents() // now may have keys of before the last event: they are read one after the other
		}
		select {
		case <-again.C:
		case <-p.t.Context().Done():
			p.t.Fatalf("%d changes became %d", changes(before), changes(now))
		}
	}
}

// changes is how many changes lines have.
func changes(all map[string]meterredis.Content) (n int64) {
	for key, content := range all {
		if _, line, ok := strings.Cut(key, ":l:"); ok && line != "" && strings.HasPrefix(key, "version:") {
			n += numberOf(content.Text)
		}
	}
	return n
}
