package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Mover moves lines to other families. Each step can be repeated: a move that stopped is gone on with by the same move again, and
// until then the unit that the line was in stays closed.
type Mover struct {
	Meter     *meterredis.Meter
	Ledger    *meterledger.Ledger
	Directory *Directory
	Calendar  meter.Calendar
	Horizon   meter.Horizon
}

// Move moves a line to a family, or out of any if that is empty. Its unit is closed, and its events wait; what was decided is
// flushed and folded; membership is switched in SQL; its keys are deleted in the old unit, where a mark stays, and written in the
// new one, as SQL says. What the line used before stays where it was counted. It waits for what is under way, as long
// as ctx says. Of several moves of a line at once each begins where another one has ended.
func (mv *Mover) Move(ctx context.Context, line, to string) error {
	return mv.patiently(ctx, meterredis.ErrMovedOn, func() error { return mv.move(ctx, line, to) })
}

func (mv *Mover) move(ctx context.Context, line, to string) error {
	history, err := mv.Ledger.History(ctx, line)
	if err != nil {
		return err
	}
	if len(history) == 0 {
		return fmt.Errorf("line %s: %w", line, meterledger.ErrUnknown)
	}
	from := history[len(history)-1].Family
	if from != to {
		if err := mv.Possible(ctx, to); err != nil {
			return err
		}
	}
	if err := mv.settle(ctx, line, history); err != nil { // a move that stopped is ended first
		return fmt.Errorf("line %s is in family %q, and a unit that it was in is closed until the move is repeated: %w", line, from, err)
	}
	if from == to { // an earlier move to somewhere else may have closed the unit, and was given up
		return mv.Meter.OpenUnit(ctx, line, to, true)
	}
	err = mv.ready(ctx)
	if err == nil {
		err = mv.close(ctx, line, from)
	}
	if err != nil {
		return fmt.Errorf("line %s stays in family %q: %w", line, from, err)
	}
	switch err := mv.switchOver(ctx, line, from, to); {
	case errors.Is(err, meterledger.ErrConflict):
		return fmt.Errorf("%w: %v", meterredis.ErrMovedOn, err) //nolint:errorlint // it is no conflict of who called
	case err != nil:
		return fmt.Errorf("line %s stays in family %q, whose unit is closed until the move is repeated: %w", line, from, err)
	}
	mv.Directory.Forget(line)
	if history, err = mv.Ledger.History(ctx, line); err == nil {
		err = mv.settle(ctx, line, history)
	}
	if err != nil && !errors.Is(err, meterredis.ErrMovedOn) { // else it has moved, and was moved on
		return fmt.Errorf("line %s has moved to family %q, and the unit that it was in is closed until the move is repeated: %w", line, to, err)
	}
	return nil
}

// close closes the unit of the line. It waits for other lines of it that move.
func (mv *Mover) close(ctx context.Context, line, from string) error {
	return mv.patiently(ctx, meterredis.ErrUnitClosed, func() error { return mv.Meter.OpenUnit(ctx, line, from, false) })
}

// patiently tries until the error is another one. When ctx ends, it returns what was waited for.
func (mv *Mover) patiently(ctx context.Context, while error, try func() error) error {
	var last error
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := try()
		switch {
		case errors.Is(err, while):
			last = err
		case last == nil || ctx.Err() == nil:
			return err
		}
		if pause(ctx, wait); ctx.Err() != nil {
			return last
		}
	}
}

// Possible says why no line can move to a family: there is none of that name. It is asked before a unit is closed, which stays closed until the
// move is repeated.
func (mv *Mover) Possible(ctx context.Context, to string) error {
	if to == "" {
		return nil
	}
	known, err := mv.Ledger.Families(ctx, []string{to})
	if _, ok := known[to]; err == nil && !ok {
		err = fmt.Errorf("family %s: %w: import it first, or name another one", to, meterledger.ErrUnknown)
	}
	return err
}

// switchOver switches membership in SQL, when SQL has everything of the line.
func (mv *Mover) switchOver(ctx context.Context, line, from, to string) error {
	version, _, err := mv.Meter.LineVersion(ctx, line, from) // 0 of one that Redis does not know yet
	if err != nil {
		return err
	}
	m := meterledger.Move{Line: line, From: from, To: to, Generation: mv.Meter.Generation(), Version: version}
	return mv.patiently(ctx, meterledger.ErrNotDrained, func() error {
		now, err := mv.Ledger.Now(ctx)
		if err != nil {
			return err
		}
		m.Due = mv.Horizon.Due(mv.Calendar, now)
		if _, err := mv.Ledger.Fold(ctx, meterledger.FoldOptions{Line: line}); err != nil {
			return err
		}
		return mv.Ledger.MoveLine(ctx, m)
	})
}

// settle brings the keys of a line to the family that it is in by its history in SQL, wherever moves have left them, and opens the units that
// it was in before.
func (mv *Mover) settle(ctx context.Context, line string, history []meterledger.Membership) error {
	step, family := meterredis.Step{Line: line, Number: len(history)}, history[len(history)-1].Family
	var before []string
	for _, was := range history {
		if was.Family != family && !slices.Contains(before, was.Family) {
			before = append(before, was.Family)
		}
	}
	if len(before) == 0 {
		return nil
	}
	beside := func(was string) bool { return meterredis.UnitBucket(line, was) == meterredis.UnitBucket(line, family) }
	_, there, err := mv.Meter.LineVersion(ctx, line, family)
	if there && slices.ContainsFunc(before, beside) { // the keys that are there may be those of the unit that it has to leave
		there, err = mv.Meter.Arrived(ctx, step, family)
	}
	if err == nil && !there {
		err = mv.ready(ctx)
	}
	if err != nil {
		return err
	}
	for _, was := range before {
		if beside(was) && there {
			continue // what is in the bucket is of the unit that it is in
		}
		if err := mv.depart(ctx, step, was, there); err != nil {
			return err
		}
	}
	if !there {
		if err := mv.arrive(ctx, step, family); err != nil {
			return err
		}
	}
	for _, was := range before {
		if err := mv.Meter.OpenUnit(ctx, line, was, true); err != nil {
			return err
		}
	}
	return nil
}

// ready says why no line can be brought anywhere now: a hydration or a restore writes all units, as SQL says, and takes one that is there for its own.
func (mv *Mover) ready(ctx context.Context) error {
	session, err := mv.Ledger.Holder(ctx)
	switch {
	case err != nil:
		return err
	case session != "":
		return fmt.Errorf("%w: session %q: move the line when it has ended", meterledger.ErrHeld, session)
	case !mv.Meter.Opened(ctx):
		return &meter.Refusal{Reason: meter.GateClosed, Detail: "no line moves until the gate is open"}
	}
	return nil
}

// depart takes a line out of a unit that it was in, when SQL has everything that was decided there: a move that was given up may have opened the
// unit after membership was switched. Of a line that has arrived what is left counts for nothing.
func (mv *Mover) depart(ctx context.Context, step meterredis.Step, was string, arrived bool) error {
	line := step.Line
	return mv.patiently(ctx, meterledger.ErrNotDrained, func() error {
		version, there, err := mv.Meter.LineVersion(ctx, line, was)
		switch {
		case err != nil || !there && arrived:
			return err
		case !there:
			version = meterredis.NotHere
		default:
			if err := mv.close(ctx, line, was); err != nil {
				return err
			}
			if !arrived {
				if err := mv.drained(ctx, line, version); err != nil {
					return err
				}
			}
		}
		now, err := mv.Ledger.Now(ctx)
		if err != nil {
			return err
		}
		gone, err := mv.Meter.Depart(ctx, step, was, version, mv.Horizon.Days(mv.Calendar, now), mv.Horizon.Months(mv.Calendar, now))
		if err == nil && !gone {
			err = fmt.Errorf("%w: the line was changed in family %q meanwhile", meterledger.ErrNotDrained, was)
		}
		return err
	})
}

// drained folds the rows of a line, and says whether SQL has so many changes of it.
func (mv *Mover) drained(ctx context.Context, line string, version int64) error {
	if _, err := mv.Ledger.Fold(ctx, meterledger.FoldOptions{Line: line}); err != nil {
		return err
	}
	tag := meter.UnitTag(line, "")
	all, err := mv.Ledger.Changes(ctx, mv.Meter.Generation(), []string{tag}, meter.Span{})
	if err != nil {
		return err
	}
	return all[tag].Drained(line, version)
}

// arrive writes the line's keys where it is now, unless they are there already.
func (mv *Mover) arrive(ctx context.Context, step meterredis.Step, to string) error {
	now, err := mv.Ledger.Now(ctx)
	if err != nil {
		return err
	}
	held, err := mv.Ledger.Read(ctx, meterledger.Unit(meter.UnitTag(step.Line, to)), Reach(mv.Calendar, mv.Horizon, now))
	if err != nil {
		return err
	}
	return mv.write(ctx, step, to, held, now)
}

// write writes the line's keys as they were read.
func (mv *Mover) write(ctx context.Context, step meterredis.Step, to string, held meterledger.Holdings, now time.Time) error {
	line := step.Line
	if family, ok := held.Source.Members[line]; !ok || family != to {
		return fmt.Errorf("line %s: %w", line, meterredis.ErrMovedOn)
	}
	// A grant that is not confirmed is made when the line is here, and not counted twice.
	held.Source.Grants = nil
	for _, g := range held.Grants {
		if g.Confirmed() || g.Line != line {
			held.Source.Grants = append(held.Source.Grants, g.Grant)
		}
	}
	book, err := meter.Rebuild(held.Source)
	if err != nil {
		return err
	}
	book.LineVersions[line] = held.Changes[meter.UnitTag(line, "")].Highest
	days, months := mv.Horizon.Days(mv.Calendar, now), mv.Horizon.Months(mv.Calendar, now)
	h := meterredis.NewHydration(book, held.Policies.Lines, days, months, now.Add(mv.Horizon.Tolerance))
	if err := mv.Meter.Arrive(ctx, step, to, h); err != nil {
		return err
	}
	return putChanged(ctx, mv.Ledger, mv.Meter, map[string]string{line: to}, h)
}
