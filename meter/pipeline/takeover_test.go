package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// neighbours are two lines in no family whose events are in one shard.
func (p *plant) neighbours() (one, other string, shard int) {
	p.t.Helper()
	at := map[int]string{}
	for line, family := range p.families {
		if family != "" {
			continue
		}
		shard := meterredis.ShardOf(line)
		if at[shard] != "" {
			return at[shard], line, shard
		}
		at[shard] = line
	}
	p.t.Fatal("no two lines share a shard: make more")
	return "", "", 0
}

// What a worker that died has left is taken over however much waits in front of it that cannot be decided, as of a unit that is closed for hours.
func TestTakenOverBehindWhatWaits(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 40)
	closed, open, shard := p.neighbours()
	var waits []meter.Event
	for n := range 15 {
		e := p.event(n)
		e.Line = closed
		waits = append(waits, e)
	}
	behind := p.event(100)
	behind.Line = open
	p.must(p.meter.OpenUnit(ctx, closed, "", false))
	p.must(p.streams.Add(ctx, shard, append(waits, behind)...))
	if left, err := p.streams.Read(ctx, shard, "dead", 100, time.Millisecond); err != nil || len(left) != len(waits)+1 {
		t.Fatalf("%d deliveries, %v", len(left), err)
	}
	defer p.workBy(WorkerOptions{Batch: 2, Idle: 200 * time.Millisecond})() // in front are many batches
	p.rows([]meter.Event{behind})
	if n, err := p.streams.Waiting(ctx); err != nil || n < int64(len(waits)) {
		t.Errorf("%d wait, %v", n, err)
	}
	p.must(p.meter.OpenUnit(ctx, closed, "", true))
	p.rows(waits)
	p.drained()
	p.audit()
}

// Workers that died are taken out of the streams when they were silent for an hour and nothing is left of theirs; the rest stay. It is looked for them once
// an hour.
func TestDeadWorkersAreForgotten(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Clock: true, Persistence: servicetest.PersistNothing})
	ctx, p := t.Context(), newPlantOn(t, server.DSN(0), servicetest.Postgres(t).Database(t), 4)
	e := p.event(0)
	shard := meterredis.ShardOf(e.Line)
	stream := fmt.Sprintf("intake:{%04d}", shard*store.Buckets/meterredis.Shards)
	consumers := func(want ...string) {
		t.Helper()
		var names []string
		for _, c := range server.Do("XINFO", "CONSUMERS", stream, "meter").([]any) {
			names = append(names, c.([]any)[1].(string))
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("consumers %q, want %q", names, want)
		}
	}
	p.must(p.streams.Add(ctx, shard, e))
	if has, err := p.streams.Read(ctx, shard, "busy", 1, time.Millisecond); err != nil || len(has) != 1 {
		t.Fatalf("%+v, %v", has, err)
	}
	server.Do("XGROUP", "CREATECONSUMER", stream, "meter", "dead")
	server.Advance(deadAfter)
	server.Do("XGROUP", "CREATECONSUMER", stream, "meter", "alive")

	w, silent, now := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Idle: 2 * deadAfter, Batch: 10}), takeover{}, time.Now()
	if taken := w.claim(ctx, shard, &silent, nil); len(taken) > 0 { // which makes a consumer of its own
		t.Errorf("taken over: %+v", taken)
	}
	p.must(p.streams.Leave(ctx, w.name))
	consumers("alive", "busy")
	server.Advance(deadAfter)
	w.dismiss(ctx, shard, &silent, now.Add(deadAfter/2))
	consumers("alive", "busy")
	w.dismiss(ctx, shard, &silent, now.Add(2*deadAfter))
	consumers("busy")
	server.Do("DEL", stream)
	if n, err := p.streams.Dismiss(ctx, shard, 0); n != 0 || err != nil {
		t.Errorf("of a stream that is gone: %d, %v", n, err)
	}
}
