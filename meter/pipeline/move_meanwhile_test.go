package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// A line is topped up while it moves: the move goes on, and the top-up counts once, where the line is then.
func TestLineIsToppedUpWhileItMoves(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{1, 2, 3, 4} { // of the move, before the top-up
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			eachLedger(t, func(t *testing.T, dsn string) {
				p := newPlant(t, dsn, 8)
				defer p.work()()
				p.stopped(steps, "family-1")
				month := p.calendar.Month(time.Now())
				g := meter.Grant{ID: "top-up", Kind: meter.TopUp, Line: "line-0", Month: month, Individual: 7}
				if _, err := p.ledger.AddGrant(t.Context(), g); err != nil {
					t.Fatal(err)
				}
				if _, err := p.keeper().Confirm(t.Context()); err != nil {
					t.Fatal(err)
				}
				short, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				p.must(p.mover().Move(short, "line-0", "family-1"))
				for range 2 { // the keeper may still think that it is in family-0
					if _, err := p.keeper().Confirm(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if row, err := p.ledger.Grant(t.Context(), g.ID); err != nil || !row.Confirmed() {
					t.Errorf("%+v, %v", row, err)
				}
				if got, err := p.meter.State(t.Context(), "line-0", "family-1", "video", 0, month); err != nil || got.Individual.Amount != 20_007 {
					t.Errorf("%+v, %v", got.Individual, err)
				}
				p.use("line-0", "line-2", "line-4")
				p.audit()
			})
		})
	}
}

// A keeper that was held up after it had read a top-up, while another one made it and its line moved, makes it no second time.
func TestTopUpIsMadeBeforeTheLineMoves(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 8)
		defer p.work()()
		month := p.calendar.Month(time.Now())
		if _, err := p.ledger.AddGrant(ctx, meter.Grant{ID: "top-up", Kind: meter.TopUp, Line: "line-0", Month: month, Individual: 7}); err != nil {
			t.Fatal(err)
		}
		believed, err := p.keeper().believe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		read, err := p.ledger.UnconfirmedGrants(ctx, month, "", 10)
		if err != nil || len(read) != 1 {
			t.Fatalf("%+v, %v", read, err)
		}
		if n, err := p.keeper().Confirm(ctx); err != nil || n != 1 {
			t.Fatalf("%d grants, %v", n, err)
		}
		p.must(p.mover().Move(ctx, "line-0", "family-1"))
		p.directory.Forget("line-0")
		if n, err := p.keeper().confirm(ctx, believed, read, map[string]bool{}); err != nil || n != 0 {
			t.Errorf("%d grants, %v", n, err)
		}
		p.use("line-0", "line-2")
		p.audit()
	})
}

// A keeper that was held up before it lets in a new line, whose family is as new, grants it nothing there when it has moved meanwhile.
func TestNewLineIsLetInWhereItIs(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 8)
	defer p.work()()
	kin, ann := []meterledger.Family{{ID: "kin"}}, []meterledger.Line{{ID: "ann", Family: "kin", Individual: 1000}}
	p.must(p.ledger.Import(ctx, kin, ann, nil))
	believed, err := p.keeper().believe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	month := p.calendar.Month(time.Now())
	id, err := p.ledger.OpenMonthOf(ctx, "ann", month)
	if err != nil {
		t.Fatal(err)
	}
	p.must(p.mover().Move(ctx, "ann", "family-0"))
	p.must(p.meter.Admit(ctx, meterredis.Members{Family: "kin", Lines: []string{"ann"}}, true))
	g := meter.Grant{ID: id, Line: "ann", Month: month, Individual: 1000}
	if _, err := p.meter.Grant(ctx, believed, g, "kin"); !errors.Is(err, meter.LineMoved) {
		t.Errorf("granted where it was: %v", err)
	}
	if _, err := p.keeper().Confirm(ctx); err != nil {
		t.Fatal(err)
	}
	p.use("ann", "line-0")
	p.audit()
}

// An event of which the done log had no row, which another worker decided before its line moved, is not decided where the line is then.
func TestEventIsCheckedForOneUnit(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 8)
	worker := func() *Worker {
		return NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: NewDirectory(p.ledger, time.Minute)})
	}
	slow, e := worker(), p.event(1)
	e.Line = "line-0"
	known, err := slow.Directory.Lines(t.Context(), time.Now(), e.Line)
	if err != nil {
		t.Fatal(err)
	}
	late := &fate{event: e, err: meterredis.ErrUnchecked}
	p.must(slow.check(t.Context(), []*fate{late}, known))

	w := worker()
	w.commit(t.Context(), w.decide(t.Context(), []delivery{{text: string(e.AppendJSON(nil))}}))
	p.must(p.mover().Move(t.Context(), e.Line, "family-1"))
	slow.Directory.Forget(e.Line)
	if known, err = slow.Directory.Lines(t.Context(), time.Now(), e.Line); err != nil {
		t.Fatal(err)
	}
	if slow.deductAll(t.Context(), []*fate{late}, known); late.row != nil || late.check == "" || late.err == nil {
		t.Errorf("it is decided again: %+v", late)
	}
	p.rows([]meter.Event{e})
	p.audit()
}
