package meterledger

import (
	"context"
	"fmt"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Move is what is known of a line that is to move when its unit has been closed and its rows are flushed and folded.
type Move struct {
	Line string
	// From and To are families, or empty for none.
	From, To string
	// Generation and Version are what Redis says of the line.
	Generation meter.Generation
	Version    int64
	// Due are the months whose grants are in Redis.
	Due meter.Span
}

// gateOpen is policy 8 of a gate that is open.
const gateOpen = "open=yes"

// MoveLine switches a line from one family to another, from now on. It is refused with [ErrNotDrained] while a row of the
// line is not folded, or SQL does not hold exactly the changes up to the version in Redis: a grant that is not confirmed is not in Redis then, and
// is made where the line is. While the gate is closed, it is refused for such a grant, too, which a hydration may have counted. It is refused with
// [ErrHeld] during a restore, with [ErrOldGeneration] for a Redis that is not the current one, and with
// [ErrConflict] if the line is in a third family. A repetition does nothing. Nothing is appended meanwhile.
func (l *Ledger) MoveLine(ctx context.Context, m Move) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.lockGeneration); err != nil {
			return err
		}
		if err := l.unheld(tx); err != nil {
			return err
		}
		if err := tx.Run(l.sql.lockLine, m.Line); err != nil {
			return err
		}
		lines, err := l.linesOf(tx, []string{m.Line})
		if err != nil {
			return err
		}
		line, ok := lines[m.Line]
		switch {
		case !ok:
			return unknown("line", m.Line)
		case line.Family == m.To:
			return nil
		case line.Family != m.From:
			return conflict("line %s is in family %q, and not in %q: look again", m.Line, line.Family, m.From)
		}
		if err := l.checkMove(tx, m); err != nil {
			return err
		}
		if err := tx.Run(l.sql.endMember, m.Line); err != nil {
			return err
		}
		return tx.Run(l.sql.addMember, m.Line, m.To)
	})
}

func (l *Ledger) checkMove(tx *database.Tx, m Move) error {
	if m.To != "" {
		families, err := l.familiesOf(tx, []string{m.To})
		if err != nil {
			return err
		}
		if len(families) == 0 {
			return unknown("family", m.To)
		}
	}
	current, err := l.current(tx)
	if err != nil {
		return err
	}
	if current != m.Generation {
		return oldGeneration(m.Generation, current)
	}
	tag := meter.UnitTag(m.Line, "")
	all, err := l.changesOf(tx, m.Generation, []string{m.Line}, nil, m.Due)
	if err != nil {
		return err
	}
	policies, err := l.policiesOf(tx, nil)
	if err != nil {
		return err
	}
	if c := all[tag]; c.Unconfirmed > 0 && policies.Global.Get(meter.Gate).Text() != gateOpen { // hydration may have counted them
		return fmt.Errorf("%w: %d grants of line %s are not confirmed, and the gate is closed: let it be opened first", ErrNotDrained, c.Unconfirmed, m.Line)
	}
	return all[tag].Drained(m.Line, m.Version)
}
