package meterledger

import (
	"context"
	"fmt"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// CheckCalendar returns [ErrCalendar] if the days and months of the ledger are those of another calendar. A ledger that has none yet
// agrees with every one.
func (l *Ledger) CheckCalendar(ctx context.Context, c meter.Calendar) error {
	return l.db.Look(ctx, func(tx *database.Tx) error { return l.sameCalendar(tx, c) })
}

// KeepCalendar makes a calendar that of the ledger, for good, unless it has one: another one is [ErrCalendar]. It is called before
// the first row that has a day or a month.
func (l *Ledger) KeepCalendar(ctx context.Context, c meter.Calendar) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.setCalendar, c.Zone().String(), c.Anchor()); err != nil {
			return err
		}
		return l.sameCalendar(tx, c)
	})
}

func (l *Ledger) sameCalendar(tx *database.Tx, c meter.Calendar) error {
	var zone string
	var anchor int
	err := tx.One(l.sql.calendar, nil, &zone, &anchor)
	if err != nil || anchor == 0 || zone == c.Zone().String() && anchor == c.Anchor() {
		return err
	}
	return fmt.Errorf("%w: its days are those of %s, and its months begin on day %d, and this process is to count in %s, from day %d: configure zone and anchor as the ledger has them",
		ErrCalendar, zone, anchor, c.Zone(), c.Anchor())
}
