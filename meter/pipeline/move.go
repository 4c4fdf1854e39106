package pipeline

import (
	"context"
	"errors"
	"fmt"
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
// flushed and folded; membership is switched in SQL; its keys are written in the new unit, as SQL says, and deleted in the
// old one, where a mark stays. What the line used before stays where it was counted. It waits for what is under way, as long
// as ctx says.
func (mv *Mover) Move(ctx context.Context, line, to string) error {
	known, err := mv.Ledger.Lines(ctx, []string{line})
	if err != nil {
		return err
	}
	current, ok := known[line]
	if !ok {
		return fmt.Errorf("line %s: %w", line, meterledger.ErrUnknown)
	}
	from, err := mv.origin(ctx, current, to)
	if err != nil {
		return err
	}
	if from == to { // an earlier move to somewhere else may have closed the unit, and was given up
		return mv.Meter.OpenUnit(ctx, line, to, true)
	}
	if err := mv.Possible(ctx, to); err != nil {
		return err
	}
	if err := mv.close(ctx, line, from); err != nil {
		return fmt.Errorf("line %s stays in family %q: %w", line, from, err)
	}
	if err := mv.leave(ctx, line, from, to); err != nil {
		return fmt.Errorf("line %s stays in family %q, whose unit is closed until the move is repeated: %w", line, from, err)
	}
	mv.Directory.Forget(line)
	return mv.Meter.OpenUnit(ctx, line, from, true)
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

// origin is the family that the line's keys are in: where it is now, or where a move that stopped has left them.
func (mv *Mover) origin(ctx context.Context, line meterledger.Line, to string) (string, error) {
	if line.Family != to {
		return line.Family, nil
	}
	history, err := mv.Ledger.History(ctx, line.ID)
	if err != nil {
		return "", err
	}
	for _, was := range history {
		if was.Family == to {
			continue
		}
		if _, there, err := mv.Meter.LineVersion(ctx, line.ID, was.Family); err != nil || there {
			return was.Family, err
		}
	}
	return to, nil
}

// leave does what is to be done while the unit is closed.
func (mv *Mover) leave(ctx context.Context, line, from, to string) error {
	version, there, err := mv.Meter.LineVersion(ctx, line, from)
	if err != nil {
		return err
	}
	if there {
		if err := mv.switchOver(ctx, meterledger.Move{Line: line, From: from, To: to, Generation: mv.Meter.Generation(), Version: version}); err != nil {
			return err
		}
		_, arrived, err := mv.Meter.LineVersion(ctx, line, to)
		if err == nil && !arrived { // else a move that stopped had come so far, and events are decided there
			err = mv.arrive(ctx, line, to, version)
		}
		if err != nil {
			return err
		}
	}
	now, err := mv.Ledger.Now(ctx)
	if err != nil {
		return err
	}
	return mv.Meter.Depart(ctx, line, from, mv.Horizon.Days(mv.Calendar, now), mv.Horizon.Months(mv.Calendar, now))
}

// switchOver switches membership in SQL, when SQL has everything of the line.
func (mv *Mover) switchOver(ctx context.Context, m meterledger.Move) error {
	return mv.patiently(ctx, meterledger.ErrNotDrained, func() error {
		now, err := mv.Ledger.Now(ctx)
		if err != nil {
			return err
		}
		m.Due = mv.Horizon.Due(mv.Calendar, now)
		if _, err := mv.Ledger.Fold(ctx, meterledger.FoldOptions{}); err != nil {
			return err
		}
		return mv.Ledger.MoveLine(ctx, m)
	})
}

// arrive writes the line's keys where it is now.
func (mv *Mover) arrive(ctx context.Context, line, to string, version int64) error {
	now, err := mv.Ledger.Now(ctx)
	if err != nil {
		return err
	}
	days, months := mv.Horizon.Days(mv.Calendar, now), mv.Horizon.Months(mv.Calendar, now)
	held, err := mv.Ledger.Read(ctx, meterledger.Unit(meter.UnitTag(line, to)), Reach(mv.Calendar, mv.Horizon, now))
	if err != nil {
		return err
	}
	book, err := meter.Rebuild(held.Source)
	if err != nil {
		return err
	}
	book.LineVersions[line] = version
	h := meterredis.NewHydration(book, held.Policies.Lines, days, months, now.Add(mv.Horizon.Tolerance))
	return mv.Meter.Arrive(ctx, line, to, h)
}
