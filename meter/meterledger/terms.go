package meterledger

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Terms are what rows, and the keys in Redis that are made from them, are the same by for every process.
type Terms struct {
	// Calendar is for good: rows have days and months of it.
	Calendar meter.Calendar
	// Horizon says what is kept in Redis, and for how long. A hydration may change it, because it writes all of that anew. Its Ahead
	// is no term: the same for all.
	Horizon meter.Horizon
}

// CheckTerms returns [ErrCalendar] or [ErrHorizon] if the ledger has other terms. One that has none yet agrees with all.
func (l *Ledger) CheckTerms(ctx context.Context, t Terms) error {
	return l.db.Look(ctx, func(tx *database.Tx) error { return l.sameTerms(tx, t) })
}

// KeepTerms makes terms those of the ledger unless it has some: others are [ErrCalendar] or [ErrHorizon]. It is called before the
// first row that has a day or a month.
func (l *Ledger) KeepTerms(ctx context.Context, t Terms) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.keepCalendar, t.Calendar.Zone().String(), t.Calendar.Anchor()); err != nil {
			return err
		}
		if err := tx.Run(l.sql.keepHorizon, t.Horizon.Retention.Microseconds(), t.Horizon.Tolerance.Microseconds()); err != nil {
			return err
		}
		return l.sameTerms(tx, t)
	})
}

// RenewTerms gives the ledger another horizon. Another calendar is [ErrCalendar]. Whoever calls it writes Redis anew.
func (l *Ledger) RenewTerms(ctx context.Context, t Terms) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.setHorizon, t.Horizon.Retention.Microseconds(), t.Horizon.Tolerance.Microseconds()); err != nil {
			return err
		}
		return l.sameTerms(tx, t)
	})
}

func (l *Ledger) sameTerms(tx *database.Tx, t Terms) error {
	var zone string
	var anchor int
	var retained, tolerated int64
	if err := tx.One(l.sql.terms, nil, &zone, &anchor, &retained, &tolerated); err != nil {
		return err
	}
	if anchor != 0 && (zone != t.Calendar.Zone().String() || anchor != t.Calendar.Anchor()) {
		return fmt.Errorf("%w: its days are those of %s, and its months begin on day %d, and this process is to count in %s, from day %d: configure zone and anchor as the ledger has them",
			ErrCalendar, zone, anchor, t.Calendar.Zone(), t.Calendar.Anchor())
	}
	retention, tolerance := time.Duration(retained)*time.Microsecond, time.Duration(tolerated)*time.Microsecond
	if retention != 0 && (retention != t.Horizon.Retention || tolerance != t.Horizon.Tolerance) {
		return fmt.Errorf("%w: its retention is %v with a tolerance of %v, and this process is configured for %v and %v: configure both as the ledger has them, or change them for all: stop every process, configure it, and call `reprise meter hydrate --renew`",
			ErrHorizon, retention, tolerance, t.Horizon.Retention, t.Horizon.Tolerance)
	}
	return nil
}
