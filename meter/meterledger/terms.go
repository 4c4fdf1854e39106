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

// kept are terms as they are in the tables: an anchor, or a retention, of 0 is none.
type kept struct {
	zone                 string
	anchor               int
	retention, tolerance time.Duration
}

func (l *Ledger) keptTerms(tx *database.Tx) (k kept, err error) {
	var retained, tolerated int64
	err = tx.One(l.sql.terms, nil, &k.zone, &k.anchor, &retained, &tolerated)
	k.retention, k.tolerance = time.Duration(retained)*time.Microsecond, time.Duration(tolerated)*time.Microsecond
	return k, err
}

// Terms returns the terms of the ledger: what it has none of yet is as in otherwise.
func (l *Ledger) Terms(ctx context.Context, otherwise Terms) (t Terms, err error) {
	var k kept
	if err := l.db.Look(ctx, func(tx *database.Tx) error { k, err = l.keptTerms(tx); return err }); err != nil {
		return otherwise, err
	}
	t = otherwise
	if k.anchor != 0 {
		zone, err := time.LoadLocation(k.zone)
		if err != nil {
			return otherwise, fmt.Errorf("the ledger's days are those of %q, which this machine does not know: %w", k.zone, err)
		}
		if t.Calendar, err = meter.NewCalendar(zone, k.anchor); err != nil {
			return otherwise, err
		}
	}
	if k.retention != 0 {
		t.Horizon.Retention, t.Horizon.Tolerance = k.retention, k.tolerance
	}
	return t, nil
}

func (l *Ledger) sameTerms(tx *database.Tx, t Terms) error {
	k, err := l.keptTerms(tx)
	if err != nil {
		return err
	}
	if k.anchor != 0 && (k.zone != t.Calendar.Zone().String() || k.anchor != t.Calendar.Anchor()) {
		return fmt.Errorf("%w: its days are those of %s, and its months begin on day %d, and this process is to count in %s, from day %d: configure zone and anchor as the ledger has them",
			ErrCalendar, k.zone, k.anchor, t.Calendar.Zone(), t.Calendar.Anchor())
	}
	if k.retention != 0 && (k.retention != t.Horizon.Retention || k.tolerance != t.Horizon.Tolerance) {
		return fmt.Errorf("%w: its retention is %v with a tolerance of %v, and this process is configured for %v and %v: configure both as the ledger has them, or change them for all: stop every process, configure it, and call `reprise meter hydrate --renew`",
			ErrHorizon, k.retention, k.tolerance, t.Horizon.Retention, t.Horizon.Tolerance)
	}
	return nil
}
