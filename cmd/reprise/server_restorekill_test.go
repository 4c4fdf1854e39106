package main

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// A restore is worked on by three processes, which are killed at any progress, the manager among them, and Redis is emptied once more in
// the middle. Whoever is called afterwards goes on, and everything is as SQL says.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	kills := 3
	if proving() {
		kills = 20
	}
	s := newRestoreSite(t, 1000*kills)
	f := s.traffic()
	stop := f.work()
	events := eventsOf("event", 400, time.Now())
	f.must(f.accept(false, events))
	f.recorded(events[:200])
	if _, err := s.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
		t.Fatal(err)
	}
	f.recorded(events)
	stop()
	s.server.FlushAll()
	if _, err := restore.Migrate(t.Context(), s.dsn); err != nil { // a process may be killed before it does that
		t.Fatal(err)
	}

	c := crewOf(s)
	for n := range kills {
		c.begin(3, "--why", "Redis was emptied")
		if c.manager(); n%3 > 0 { // else it closes the gate, or drains, or goes on where it stood
			c.more(200 * (1 + rand.Int64N(5)))
		}
		for _, cmd := range c.alive {
			s.killed(cmd)
		}
		if c.alive = nil; n == kills/2 {
			s.server.FlushAll()
		}
		s.expire()
		c.slow("200") // it is not to come to its end before it is killed
	}
	s.call(0, "pace", "--rate", "0")
	s.call(0, "start", "--why", "Redis was emptied")
	s.call(0, "start").has("already complete, nothing done")
	s.call(0, "verify").has("all equal")
	again := s.traffic()
	defer again.work()()
	f.must(again.accept(false, events[:50]))
	i := &inspect.Inspector{Meter: again.meter, Ledger: s.ledger, Horizon: s.horizon}
	report, err := i.Audit(t.Context(), time.Now(), 20*time.Second)
	if err != nil || !report.Clean() || report.Events != int64(len(events)) {
		t.Errorf("%+v, %v", report, err)
	}
}

// A drill that somebody stops leaves nothing in Redis: what it wrote takes as much memory as what lives.
func TestAStoppedDrillLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 50)
	s.connect()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE reprise.meter_done"); err != nil { // it waits for that in the middle
		t.Fatal(err)
	}
	keys := func(pattern string) int {
		found, err := s.byHand.Do("KEYS", pattern)
		if err != nil {
			t.Fatal(err)
		}
		return len(found.([]any))
	}
	drill := s.process("drill")
	eventually(t, "the shadow has units", func() bool { return keys("shadow:*:unit:*") > 0 })
	if err := drill.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := drill.Wait(); err == nil {
		t.Error("it says that it came to its end")
	}
	if n := keys("shadow:*"); n > 0 {
		t.Errorf("%d keys of the shadow are left", n)
	}
}
