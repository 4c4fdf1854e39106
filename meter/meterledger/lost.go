package meterledger

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Lost is what rows of the done log sum up to whose effect Redis does not have.
type Lost struct {
	Events int64
	// First and Last are when the first and the last of the events happened; zero if there are none.
	First, Last time.Time
	// Bytes is what was taken of allowances for them.
	Bytes Allowances
}

// LostChanges sums up the changes of lines in a generation that come after those which Redis has: so many of each line.
func (l *Ledger) LostChanges(ctx context.Context, g meter.Generation, has map[string]int64) (Lost, error) {
	type form struct {
		Line    string `json:"l"`
		Changes int64  `json:"v"`
	}
	forms := make([]form, 0, len(has))
	for line, changes := range has {
		forms = append(forms, form{line, changes})
	}
	text, err := database.Batch(forms)
	if err != nil {
		return Lost{}, err
	}
	return l.lost(ctx, l.sql.lostChanges, text, string(g))
}

// LostMonths sums up all rows of a month and later. It reads the log from end to end.
func (l *Ledger) LostMonths(ctx context.Context, first meter.Month) (Lost, error) {
	return l.lost(ctx, l.sql.lostMonths, int64(first))
}

func (l *Ledger) lost(ctx context.Context, s database.Statement, arguments ...any) (lost Lost, err error) {
	var first, last int64
	var sums sumsText
	if err := l.db.Look(ctx, func(tx *database.Tx) error {
		return tx.One(s, arguments, &sums.events, &first, &last, &sums.individual, &sums.shared, &sums.qos)
	}); err != nil {
		return lost, err
	}
	sums.blocked, sums.uncounted = "0", "0"
	all, err := sums.sums()
	lost = Lost{Events: all.Events, Bytes: Allowances{Individual: all.Individual, QoS: all.QoS, Shared: all.Shared}}
	if lost.Events > 0 {
		lost.First, lost.Last = database.Instant(first), database.Instant(last)
	}
	return lost, err
}

// KeyCounts is how many keys of each family there should be in Redis.
type KeyCounts struct {
	Individual, Shared, DailyTotal, DailyShared, MonthlyShared int64
}

// ExpectedKeys counts the keys that follow from what the ledger holds of some months and days, the first and the last of each. Each day that has a
// total has apps too. It reads totals and grants from end to end.
func (l *Ledger) ExpectedKeys(ctx context.Context, months []meter.Month, days []meter.Day) (c KeyCounts, err error) {
	arguments := []any{int64(months[0]), int64(months[len(months)-1]), int64(days[0]), int64(days[len(days)-1])}
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		return tx.One(l.sql.expectedKeys, arguments, &c.Individual, &c.Shared, &c.DailyTotal, &c.DailyShared, &c.MonthlyShared)
	})
	return c, err
}
