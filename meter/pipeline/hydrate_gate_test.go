package pipeline

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
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
