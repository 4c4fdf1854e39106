package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// Rows are kept for as long as is said, and never for less than their events are remembered; not during a restore, and not for ever. What they stand for
// stays: Redis is as SQL says afterwards, and an event that comes again is not counted.
func TestOldRowsAreRemoved(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 4)
		stop := p.work()
		var events []meter.Event
		for n := range 50 {
			events = append(events, p.event(n))
		}
		p.accept(p.intake(false), events)
		p.rows(events)
		p.drained()
		_, err := p.ledger.Fold(ctx, meterledger.FoldOptions{})
		p.must(err)

		const day = 24 * time.Hour
		k, now := p.keeper(), time.Now()
		removes := func(why string, at time.Time, want int64) {
			t.Helper()
			if n, err := k.Purge(ctx, at); n != want || err != nil {
				t.Errorf("%s: %d rows were removed, %v; want %d", why, n, err, want)
			}
		}
		removes("for ever", now.Add(1000*day), 0)
		k.KeepRows = time.Hour
		removes("the events are remembered", now.Add(p.horizon.Remembered()-time.Minute), 0)
		k.KeepRows = 100 * day
		removes("not for long enough", now.Add(99*day), 0)
		p.must(p.ledger.HoldFolds(ctx, "session", 1, "a test"))
		removes("a restore", now.Add(102*day), 0)
		p.must(p.ledger.ReleaseFolds(ctx, "session", 1))
		removes("over", now.Add(102*day), int64(len(events)))
		p.audit()
		p.accept(p.intake(false), events)
		p.accept(p.intake(true), events)
		p.drained()
		stop()
		p.audit()
	})
}

// Whoever serves removes them.
func TestKeeperRemovesOldRows(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 4)
	e := p.event(0)
	stop := p.work()
	p.accept(p.intake(false), []meter.Event{e})
	p.rows([]meter.Event{e})
	stop()
	p.harm("UPDATE reprise.meter_done SET day = 20200101, recorded_at = recorded_at - 200 * 86400000000")
	p.must(p.keeper().Fold(ctx))

	k := p.keeper()
	k.KeepRows = 100 * 24 * time.Hour
	life, end := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- k.Run(life) }()
	patience, cancel := p.patience()
	defer cancel()
	for id := []meterledger.Identity{{Line: e.Line, Event: e.ID}}; ; pause(patience, 20*time.Millisecond) {
		found, err := p.ledger.LookupDone(patience, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			break
		}
	}
	end()
	p.must(<-ended)
}
