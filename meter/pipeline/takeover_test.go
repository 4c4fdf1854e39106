package pipeline

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
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
