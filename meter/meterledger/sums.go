package meterledger

import (
	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// sumsText is sums as a server returns them: decimals.
type sumsText struct {
	events                                      int64
	individual, shared, qos, blocked, uncounted string
}

// columns are where the columns of sums are read to, in the order of all statements that return them.
func (t *sumsText) columns() []any {
	return []any{&t.events, &t.individual, &t.shared, &t.qos, &t.blocked, &t.uncounted}
}

func (t *sumsText) sums() (meter.Sums, error) {
	s := meter.Sums{Events: t.events}
	for _, part := range []struct {
		text string
		to   *meter.Wide
	}{{t.individual, &s.Individual}, {t.shared, &s.Shared}, {t.qos, &s.QoS}, {t.blocked, &s.Blocked}, {t.uncounted, &s.Uncounted}} {
		wide, err := meter.ParseWide(part.text)
		if err != nil {
			return s, unreadable("a sum", err)
		}
		*part.to = wide
	}
	return s, nil
}

// eachTotal calls do with each row of the form of a daily total.
func (l *Ledger) eachTotal(tx *database.Tx, s database.Statement, arguments []any, do func(meter.TotalKey, meter.Sums)) error {
	var k meter.TotalKey
	var t sumsText
	return tx.Each(s, arguments, append([]any{&k.Line, &k.Day, &k.App, &k.Family, &k.Month}, t.columns()...), func() error {
		sums, err := t.sums()
		if err == nil {
			do(k, sums)
		}
		return err
	})
}

// eachSnapshot calls do with each row of the form of a monthly snapshot.
func (l *Ledger) eachSnapshot(tx *database.Tx, s database.Statement, arguments []any, do func(meter.SnapshotKey, meter.Sums)) error {
	var k meter.SnapshotKey
	var t sumsText
	return tx.Each(s, arguments, append([]any{&k.Line, &k.Month, &k.Family}, t.columns()...), func() error {
		sums, err := t.sums()
		if err == nil {
			do(k, sums)
		}
		return err
	})
}
