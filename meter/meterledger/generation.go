package meterledger

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Generation returns the life of the data in Redis that is believed; empty if there was none yet.
func (l *Ledger) Generation(ctx context.Context) (g meter.Generation, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		g, err = l.current(tx)
		return err
	})
	return g, err
}

func (l *Ledger) current(tx *database.Tx) (g meter.Generation, err error) {
	g, _, _, err = l.belief(tx)
	return g, err
}

// belief is the current generation, the last day of which rows were purged, and since when the generation is current.
func (l *Ledger) belief(tx *database.Tx) (g meter.Generation, purged meter.Day, since time.Time, err error) {
	var at int64
	err = tx.One(l.sql.generation, nil, &g, &purged, &at)
	return g, purged, database.Instant(at), err
}

// believe makes a transaction one of a generation: as long as it runs, no other generation can begin, and no more is
// purged than up to the day that it returns. An older generation is refused.
func (l *Ledger) believe(tx *database.Tx, g meter.Generation) (purged meter.Day, err error) {
	if err := tx.Run(l.sql.shareGeneration); err != nil {
		return 0, err
	}
	current, purged, _, err := l.belief(tx)
	if err == nil && current != g {
		err = oldGeneration(g, current)
	}
	return purged, err
}

// NewGeneration begins a generation in the place of the one that the caller has seen. It waits for the appends under
// way; once it returns, no row of the old one is added any more. That the next one is the current one already
// is no error: it is a repetition. Another current one than was seen is [ErrConflict], and so is a next one that was before.
func (l *Ledger) NewGeneration(ctx context.Context, seen, next meter.Generation, who, why string) error {
	switch {
	case !next.Valid():
		return fmt.Errorf("%q is not a generation: write up to 32 lower-case hexadecimal digits", next)
	case who == "" || why == "":
		return fmt.Errorf("a new generation makes what older processes hold void: say who wants it, and why")
	}
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.lockGeneration); err != nil {
			return err
		}
		current, err := l.current(tx)
		if err != nil || current == next {
			return err
		}
		if current != seen {
			return conflict("the generation is %q, and %q was seen: look again what happened", current, seen)
		}
		var used int64
		if err := tx.One(l.sql.generationUsed, []any{string(next)}, &used); err != nil {
			return err
		}
		if used > 0 {
			return conflict("%q was a generation before: choose a new one", next)
		}
		if err := tx.Run(l.sql.addGeneration, string(next), who, why); err != nil {
			return err
		}
		return tx.Run(l.sql.setGeneration, string(next), who, why)
	})
}

// HadGeneration reports whether a generation is, or was, one of this ledger's.
func (l *Ledger) HadGeneration(ctx context.Context, g meter.Generation) (had bool, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var used int64
		err := tx.One(l.sql.generationUsed, []any{string(g)}, &used)
		had = used > 0
		return err
	})
	return had, err
}

// Holder returns the session of the restore that holds folds; empty if none does.
func (l *Ledger) Holder(ctx context.Context) (session string, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		session, err = l.holder(tx)
		return err
	})
	return session, err
}

// HoldFolds keeps folds from running until [Ledger.ReleaseFolds], for the session of a restore. It waits for the
// batches under way. Another session that holds them is [ErrHeld], and an older epoch than the highest is [ErrLate].
func (l *Ledger) HoldFolds(ctx context.Context, session string, epoch int64, why string) error {
	if session == "" {
		return fmt.Errorf("whoever holds folds needs a name: write the session's")
	}
	return l.setHold(ctx, session, epoch, session, why)
}

// ReleaseFolds lets folds run again that a session holds. If nobody holds them, it does nothing.
func (l *Ledger) ReleaseFolds(ctx context.Context, session string, epoch int64) error {
	return l.setHold(ctx, session, epoch, "", "")
}

// Fence makes everything late that a restore of an older epoch does to the gate and to what holds folds. With an older epoch than the
// highest it is [ErrLate] itself.
func (l *Ledger) Fence(ctx context.Context, epoch int64) error {
	return l.db.Change(ctx, func(tx *database.Tx) error { return l.fence(tx, epoch) })
}

// fence makes a transaction one of an epoch, beside which no higher one comes.
func (l *Ledger) fence(tx *database.Tx, epoch int64) error {
	var highest int64
	if err := tx.One(l.sql.lockFence, nil, &highest); err != nil {
		return err
	}
	switch {
	case epoch < highest:
		return fmt.Errorf("%w: this is of %d, and a process with %d has gone on", ErrLate, epoch, highest)
	case epoch > highest:
		return tx.Run(l.sql.setFence, epoch)
	}
	return nil
}

func (l *Ledger) setHold(ctx context.Context, session string, epoch int64, next, why string) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.lockHold); err != nil {
			return err
		}
		if err := l.fence(tx, epoch); err != nil {
			return err
		}
		current, err := l.holder(tx)
		switch {
		case err != nil || current == next:
			return err
		case current != "" && current != session:
			return fmt.Errorf("%w: session %q", ErrHeld, current)
		}
		return tx.Run(l.sql.setHold, next, why)
	})
}

func (l *Ledger) holder(tx *database.Tx) (session string, err error) {
	return session, tx.One(l.sql.hold, nil, &session)
}

// unheld makes a transaction one beside which no restore can begin, or says which one has.
func (l *Ledger) unheld(tx *database.Tx) error {
	if err := tx.Run(l.sql.shareHold); err != nil {
		return err
	}
	session, err := l.holder(tx)
	if err == nil && session != "" {
		err = fmt.Errorf("%w: session %q: go on when it has ended", ErrHeld, session)
	}
	return err
}
