package pgstore

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// countLimit is how many rows of a table are counted one by one.
const countLimit = 20_000

// Count implements [store.Counter]. Up to 20,000 records of a table are counted one by one. Beyond that
// their number is estimated from the first 20,000, which is fair: digests are spread evenly, so the place
// of the 20,000th says how many there are. What is not answered yet is in a table of its own, so that a
// single unknown outcome among millions of answers is seen.
func (s *Store) Count(ctx context.Context) (store.Counts, error) { return s.count(ctx, countLimit) }

func (s *Store) count(ctx context.Context, limit int) (store.Counts, error) {
	counts := store.Counts{States: map[machine.State]int64{}}
	err := s.inSnapshot(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if counts.At, err = s.now(ctx, tx); err != nil {
			return err
		}
		for _, sql := range []string{s.sql.scanOpen, s.sql.scanAnswered} {
			if err := tally(ctx, scan{tx: tx, sql: sql}, limit, &counts); err != nil {
				return err
			}
		}
		return nil
	})
	return counts, err
}

// tally adds the records of one table.
func tally(ctx context.Context, scan scan, limit int, counts *store.Counts) error {
	states := map[machine.State]int64{}
	more, err := scan.run(ctx, limit, func(row scanned) bool {
		if row.record != nil {
			state, _ := row.record.Judge(counts.At)
			states[state]++
		}
		return true
	})
	if err != nil {
		return err
	}
	share := 1.0 // of all digests, that was looked at
	if more {
		counts.Sampled = true
		share = (float64(binary.BigEndian.Uint64(scan.after[:])) + 1) / (1 << 64)
	}
	for state, n := range states {
		if n = int64(float64(n) / share); state == machine.Absent {
			counts.Due += n
		} else {
			counts.States[state] += n
		}
	}
	return nil
}
