package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// stopped makes the first steps of a move of line-0 from family-0 to another, as one that died did: nothing, the unit is closed, membership is
// switched, the line has left, or it has arrived as well.
func (p *plant) stopped(steps int, to string) {
	p.t.Helper()
	mv := p.mover()
	for _, step := range []func() error{
		func() error { return p.meter.OpenUnit(p.t.Context(), "line-0", "family-0", false) },
		func() error { return mv.switchOver(p.t.Context(), "line-0", "family-0", to) },
		func() error {
			return mv.depart(p.t.Context(), meterredis.Step{Line: "line-0", Number: 2}, "family-0", false)
		},
		func() error { return mv.arrive(p.t.Context(), meterredis.Step{Line: "line-0", Number: 2}, to) },
	}[:steps] {
		if err := step(); err != nil {
			p.t.Fatal(err)
		}
	}
}

// use has events of lines decided, and returns them.
func (p *plant) use(lines ...string) (events []meter.Event) {
	p.t.Helper()
	for _, line := range lines {
		e := p.event(rand.Int())
		e.Line = line
		p.directory.Forget(line)
		events = append(events, e)
	}
	p.accept(p.intake(false), events)
	p.rows(events)
	p.drained()
	return events
}

// A move that stopped anywhere, and that the same or another one follows: nothing that was decided on the way is lost, and no unit stays closed.
func TestMoveStops(t *testing.T) {
	t.Parallel()
	for steps := range 5 {
		for _, to := range []string{"family-0", "family-1", "family-2", ""} {
			t.Run(fmt.Sprintf("%d to %s", steps, to), func(t *testing.T) {
				t.Parallel()
				p := newPlant(t, servicetest.Postgres(t).Database(t), 12)
				defer p.work()()
				events := p.use("line-0", "line-0")
				p.stopped(steps, "family-1")
				if steps == 0 || steps == 4 { // it is decided where it is
					events = append(events, p.use("line-0", "line-0", "line-0")...)
				}
				for range 2 {
					p.must(p.mover().Move(t.Context(), "line-0", to))
				}
				if known, err := p.ledger.Lines(t.Context(), []string{"line-0"}); err != nil || known["line-0"].Family != to {
					t.Errorf("%+v, %v", known, err)
				}
				for _, family := range []string{"family-0", "family-1", "family-2", ""} {
					if _, there, err := p.meter.LineVersion(t.Context(), "line-0", family); err != nil || there != (family == to) {
						t.Errorf("it is in family %q: %t, %v", family, there, err)
					}
				}
				p.accept(p.intake(false), events)
				p.use("line-0", "line-0", "line-2", "line-4", "line-6", "line-8")
				p.audit()
			})
		}
	}
}

// A line that was just imported, and that Redis does not know yet, moves like any other, and can be used where it is then.
func TestNewLineMoves(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 8)
		defer p.work()()
		lines := []meterledger.Line{{ID: "fresh", Family: "family-0", Individual: 1000}, {ID: "lone", Individual: 1000}}
		if err := p.ledger.Import(t.Context(), nil, lines, nil); err != nil {
			t.Fatal(err)
		}
		var events []meter.Event
		for n, line := range lines {
			if err := p.mover().Move(t.Context(), line.ID, "family-1"); err != nil {
				t.Fatal(err)
			}
			e := p.event(n)
			e.Line = line.ID
			events = append(events, e)
		}
		if known, err := p.ledger.Lines(t.Context(), []string{"fresh", "lone"}); err != nil || known["fresh"].Family != "family-1" || known["lone"].Family != "family-1" {
			t.Errorf("%+v, %v", known, err)
		}
		if _, err := p.keeper().OpenMonths(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := p.keeper().Confirm(t.Context()); err != nil || n == 0 {
			t.Fatalf("%d grants, %v", n, err)
		}
		p.accept(p.intake(false), events)
		p.rows(events)
		p.drained()
		p.audit()
	})
}

// Whoever gives a move up that still runs may open the unit when membership is switched: what is decided then moves with the line.
func TestMoveIsGivenUpWhileItRuns(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 8)
	w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
	decide := func(n int) []fate {
		e := p.event(n)
		e.Line = "line-0"
		fates := w.decide(t.Context(), []delivery{{text: string(e.AppendJSON(nil))}})
		if fates[0].row == nil {
			t.Fatalf("%+v", fates[0])
		}
		return fates
	}
	w.commit(t.Context(), decide(1))
	p.stopped(2, "family-1")
	p.must(p.meter.OpenUnit(t.Context(), "line-0", "family-0", true)) // by one that had seen it in family-0
	e := p.event(2)
	e.Line = "line-0"
	decided, err := p.meter.Deduct(t.Context(), p.checked(e, "family-0"))
	if err != nil {
		t.Fatal(err)
	}
	meanwhile := []fate{{event: e, row: &meter.Row{Event: e, Result: decided.Result}}}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := p.mover().Move(short, "line-0", "family-1"); !errors.Is(err, meterledger.ErrNotDrained) {
		t.Errorf("SQL lacks an event that was decided meanwhile: %v", err)
	}
	w.commit(t.Context(), meanwhile)
	p.must(p.mover().Move(t.Context(), "line-0", "family-1"))
	w.commit(t.Context(), decide(3))
	p.audit()
}

// A step of a move that comes late, when the line was moved on, is refused, and so is one of the same move that was made already.
func TestLateSteps(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 12)
	defer p.work()()
	p.use("line-0")
	p.stopped(4, "family-1")
	late, mv := meterredis.Step{Line: "line-0", Number: 2}, p.mover()
	p.use("line-0")
	p.must(mv.arrive(t.Context(), late, "family-1"))
	p.must(p.meter.OpenUnit(t.Context(), "line-0", "family-0", true))
	p.audit()
	p.must(mv.Move(t.Context(), "line-0", "family-0"))
	if gone, err := p.meter.Depart(t.Context(), late, "family-0", 2, nil, nil); gone || !errors.Is(err, meterredis.ErrMovedOn) {
		t.Errorf("it leaves family-0 by a move that is over: %t, %v", gone, err)
	}
	h := meterredis.NewHydration(meter.NewBook(p.meter.Generation(), map[string]string{"line-0": "family-1"}), nil, nil, nil, time.Now())
	if err := p.meter.Arrive(t.Context(), late, "family-1", h); !errors.Is(err, meterredis.ErrMovedOn) {
		t.Errorf("it arrives in family-1 by a move that is over: %v", err)
	}
	p.use("line-0", "line-2", "line-4")
	p.audit()
}

// One line that is moved by many at once, under load, is somewhere in the end, with all that it used.
func TestOneLineIsMovedByMany(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		defer p.work()()
		in, n := p.intake(false), 0
		var all []meter.Event
		load := func(events int) {
			for range events {
				n++
				e := p.event(n)
				if n%2 == 0 {
					e.Line = "line-0"
				}
				all = append(all, e)
			}
			p.accept(in, all[len(all)-events:])
		}
		load(50)
		for range 6 {
			var many sync.WaitGroup
			for _, to := range []string{"family-1", "family-1", "family-2", "family-0", ""} {
				many.Go(func() {
					if err := p.mover().Move(t.Context(), "line-0", to); err != nil {
						t.Errorf("to %q: %v", to, err)
					}
				})
			}
			load(20)
			many.Wait()
			load(20)
		}
		p.must(p.mover().Move(t.Context(), "line-0", "family-1"))
		p.rows(all)
		p.drained()
		p.audit()
	})
}
