package meterledger

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Purge says which rows of the done log are no longer needed.
type Purge struct {
	// Through is the last day whose rows are removed. No event of that day may be accepted any more: a row of it is never
	// added again, because nobody could tell whether it was there.
	Through meter.Day
	// RecordedBefore is when they were taken in at the latest. The records of operations in Redis live as long as that is ago.
	RecordedBefore time.Time
	// Batch is how many rows share a commit; 0 is 1,000.
	Batch int
}

// PurgeDone removes rows of the done log that are folded, and returns how many. Totals and snapshots stay, and stand for them
// in the audit. It is done in batches, goes on where another call ended, and costs what it removes and a look at each line. During a restore it is
// refused with [ErrHeld], also between two batches.
func (l *Ledger) PurgeDone(ctx context.Context, p Purge) (removed int64, err error) {
	if !p.Through.Valid() || p.RecordedBefore.IsZero() {
		return 0, errors.New("a purge needs the last day, and until when rows were recorded: name both")
	}
	if p.Batch <= 0 {
		p.Batch = 1000
	}
	if err := l.db.Change(ctx, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.lockGeneration); err != nil {
			return err
		}
		if err := l.unheld(tx); err != nil {
			return err
		}
		return tx.Run(l.sql.setPurged, int64(p.Through))
	}); err != nil {
		return 0, err
	}
	for after := ""; ; {
		lines, err := l.linesAfter(ctx, after)
		if err != nil || len(lines) == 0 {
			return removed, err
		}
		for n := int64(p.Batch); n == int64(p.Batch); {
			if n, err = l.purgeBatch(ctx, p, lines); err != nil {
				return removed, err
			}
			removed += n
		}
		after = lines[len(lines)-1]
	}
}

// Purged returns the last day of which rows were purged, or may be by now; 0 if there is none. What is not in the log of a day up to it may have been.
func (l *Ledger) Purged(ctx context.Context) (day meter.Day, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		_, day, _, err = l.belief(tx)
		return err
	})
	return day, err
}

// purgedLines is how many lines are looked at with one statement.
const purgedLines = 1000

func (l *Ledger) linesAfter(ctx context.Context, after string) (lines []string, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var line string
		lines = nil
		return tx.Each(l.sql.purgeLines, []any{after, purgedLines}, []any{&line}, func() error {
			lines = append(lines, line)
			return nil
		})
	})
	return lines, err
}

func (l *Ledger) purgeBatch(ctx context.Context, p Purge, lines []string) (n int64, err error) {
	text, err := database.IDs(lines)
	if err != nil {
		return 0, err
	}
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		var all []Identity
		var one Identity
		n = 0
		if err := l.unheld(tx); err != nil {
			return err
		}
		if err := tx.Each(l.sql.purgeable, []any{text, p.RecordedBefore.UnixMicro(), int64(p.Through), p.Batch}, []any{&one.Line, &one.Event}, func() error {
			all = append(all, one)
			return nil
		}); err != nil || len(all) == 0 {
			return err
		}
		events, err := identities(all)
		if err != nil {
			return err
		}
		n = int64(len(all)) // another one may have removed some of them: there may be more behind
		return tx.Run(l.sql.purge, events)
	})
	return n, err
}
