package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// A move to a family that is not there is refused before anything is closed: repeating it would never open the unit again.
func TestMoveToNowhere(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		stop := p.work()
		defer stop()
		e := p.event(1)
		for _, to := range []string{"nobody", "no family!"} {
			if err := p.mover().Move(t.Context(), e.Line, to); !errors.Is(err, meterledger.ErrUnknown) {
				t.Errorf("to %q: %v", to, err)
			}
		}
		p.accept(p.intake(false), []meter.Event{e})
		p.drained()
		if rows := p.rows([]meter.Event{e}); len(rows) != 1 {
			t.Errorf("after that %d events of the line are decided, want 1", len(rows))
		}
	})
}

func (p *plant) mover() *Mover {
	return &Mover{Meter: p.meter, Ledger: p.ledger, Directory: p.directory, Calendar: p.calendar, Horizon: p.horizon}
}

// A line moves from its family to another, out of any and back, under load. What it used stays counted where it was, an event from
// before that is delivered again changes nothing, and SQL and Redis agree.
func TestLineMoves(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 8)
		stop := p.work()
		defer stop()
		in, n := p.intake(false), 0
		var all []meter.Event
		load := func(events int) {
			for range events {
				n++
				all = append(all, p.event(n))
			}
			p.accept(in, all[len(all)-events:])
		}
		load(200)
		for _, to := range []string{"family-1", "", "family-0", "family-1"} {
			load(100)
			if err := p.mover().Move(t.Context(), "line-0", to); err != nil {
				t.Fatalf("to %q: %v", to, err)
			}
			if err := p.mover().Move(t.Context(), "line-0", to); err != nil {
				t.Errorf("to %q again: %v", to, err)
			}
			load(100)
			p.accept(in, all[:100]) // some are of line-0, from before, and folded
		}
		p.rows(all)
		p.drained()
		p.audit()
		for shard := range 16 {
			if dead, err := p.streams.DeadLetters(t.Context(), shard, "", 10); err != nil || len(dead) > 0 {
				t.Errorf("dead letters: %+v, %v", dead, err)
			}
		}
	})
}

// A unit that is closed for a line that moves is not opened by the move of another line of it, which waits. Who gives the move up opens it.
func TestUnitIsClosedForOneLine(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 8)
	defer p.work()()
	event := p.event(1)
	event.Line = "line-2"
	p.must(p.meter.OpenUnit(t.Context(), "line-0", "family-0", false)) // a move that died
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := p.mover().Move(short, "line-2", "family-1"); !errors.Is(err, meterredis.ErrUnitClosed) {
		t.Errorf("another line moves: %v", err)
	}
	p.must(p.mover().Move(t.Context(), "line-2", "family-0")) // where it is: nothing is to be done
	day := p.calendar.Day(time.Now())
	if s, err := p.meter.State(t.Context(), "line-0", "family-0", "video", day, p.calendar.MonthOf(day)); err != nil || s.Unit.Open {
		t.Errorf("%+v, %v", s.Unit, err)
	}

	p.must(p.mover().Move(t.Context(), "line-0", "family-0")) // it is given up
	p.accept(p.intake(false), []meter.Event{event})
	p.rows([]meter.Event{event})
	var both sync.WaitGroup
	for _, line := range []string{"line-0", "line-2"} {
		both.Go(func() { p.must(p.mover().Move(t.Context(), line, "family-1")) })
	}
	both.Wait()
	p.drained()
	p.audit()
}

// A move that stopped anywhere is gone on with by the same move.
func TestMoveGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 8)
	defer p.work()()
	events := []meter.Event{p.event(1), p.event(2), p.event(3)}
	for i := range events {
		events[i].Line = "line-0"
	}
	p.accept(p.intake(false), events)
	p.rows(events)
	p.drained()
	mv := p.mover()
	version, _, err := p.meter.LineVersion(t.Context(), "line-0", "family-0")
	if err != nil || version != 3 {
		t.Fatalf("version %d, %v", version, err)
	}
	move := meterledger.Move{Line: "line-0", From: "family-0", To: "family-1", Generation: p.meter.Generation(), Version: version}
	for _, step := range []func() error{
		func() error { return p.meter.OpenUnit(t.Context(), "line-0", "family-0", false) },
		func() error { return mv.switchOver(t.Context(), move) },
		func() error { return mv.arrive(t.Context(), "line-0", "family-1", version) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	later := p.event(4) // decided where the line has arrived
	later.Line = "line-0"
	p.directory.Forget("line-0")
	p.accept(p.intake(false), []meter.Event{later})
	p.rows([]meter.Event{later})
	for range 2 {
		if err := mv.Move(t.Context(), "line-0", "family-1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, there, err := p.meter.LineVersion(t.Context(), "line-0", "family-0"); there || err != nil {
		t.Errorf("it is still in family-0: %v", err)
	}
	last := p.event(5)
	last.Line = "line-2" // which stayed in family-0
	p.accept(p.intake(false), append(events, last))
	p.rows([]meter.Event{last})
	p.drained()
	p.audit()
}
