package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// A hydration that died when it had opened the gate in SQL, and in some buckets, is finished by the next one.
func TestHydrationDiesWhileItOpensTheGate(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	p := newPlantOn(t, server.DSN(0), servicetest.Postgres(t).Database(t), 4)
	for _, bucket := range []string{"{0001}", "{1023}"} {
		server.Do("HSET", "policy:"+bucket+":8", "open", "no", "version", "1")
	}
	if _, err := Hydrate(ctx, p.hydration()); !errors.Is(err, ErrHydrated) {
		t.Errorf("hydrated again: %v", err)
	}
	for _, bucket := range []string{"{0001}", "{1023}"} {
		if open := server.Do("HGET", "policy:"+bucket+":8", "open"); open != "yes" {
			t.Errorf("bucket %s: the gate says %q", bucket, open)
		}
	}
}

// Of two hydrations at once one opens the gate, of the units that it has written: the one that was overtaken opens nothing, before the
// other one has begun its generation or after that.
func TestTwoHydrations(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 8)
	first, second := p.hydration(), p.hydration()
	first.Renew, second.Renew = true, true
	p.must(second.closeGate(ctx))
	if _, err := Hydrate(ctx, first); err != nil {
		t.Fatal(err)
	}
	g, err := second.begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := second.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.must(m.Close()) }()
	p.must(second.policies(ctx, m))
	if m.Opened(ctx) {
		t.Error("the gate is open, and no unit is written")
	}
	if err := first.openGate(ctx, m, "overtaken"); !errors.Is(err, meterledger.ErrConflict) || m.Opened(ctx) {
		t.Errorf("opened by the one that was overtaken: %v", err)
	}
	var done Hydrated
	p.must(second.units(ctx, m, &done))
	p.must(second.openGate(ctx, m, g))
	p.open()
	defer p.work()()
	p.use("line-0", "line-2")
	p.audit()
}

// A worker that remembers where a line was before Redis was hydrated decides its events where it is.
func TestLineMovedBeforeAHydration(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	p := newPlantOn(t, server.DSN(0), servicetest.Postgres(t).Database(t), 8)
	directory := NewDirectory(p.ledger, time.Hour)
	decide := func(n int) fate {
		e := p.event(n)
		e.Line = "line-0"
		w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: directory})
		fates := w.decide(ctx, []delivery{{text: string(e.AppendJSON(nil))}})
		w.commit(ctx, fates)
		return fates[0]
	}
	if f := decide(1); f.row == nil || f.row.Result.Family != "family-0" {
		t.Fatalf("%+v", f)
	}
	p.must(p.mover().Move(ctx, "line-0", "family-1"))
	bucket := meterredis.UnitBucket("line-0", "family-0") // as in an older dump
	server.Do("SET", "version:"+bucket+":l:line-0", "1")
	server.Do("HSET", "remaining_indiv_amount:"+bucket+":line-0:"+p.calendar.Month(time.Now()).String(), "amount", "20000", "qos", "5000")
	p.must(p.hydrateAnew())
	if f := decide(2); f.row == nil || f.row.Result.Family != "family-1" {
		t.Errorf("%+v", f)
	}
	p.audit()
}
