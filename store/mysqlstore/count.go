package mysqlstore

import (
	"context"
	"encoding/binary"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// countLimit is how many rows are counted one by one.
const countLimit = 20_000

// Count implements [store.Counter]. Up to 20,000 records are counted one by one. Beyond that their number is
// estimated from the first 20,000, which is fair: digests are spread evenly, so the place of the 20,000th
// says how many there are. What is executing or abandoned is counted by itself, so that a single unknown
// outcome among millions of answers is seen.
func (s *Store) Count(ctx context.Context) (store.Counts, error) { return s.count(ctx, countLimit) }

func (s *Store) count(ctx context.Context, limit int) (store.Counts, error) {
	counts := store.Counts{States: map[machine.State]int64{}}
	err := s.inSnapshot(ctx, func(c *conn, at machine.Instant) error {
		counts.At = at
		unfinished := func(r *machine.Record) bool { return r.ForgottenAt() == 0 }
		finished := func(r *machine.Record) bool { return !unfinished(r) }
		if err := tally(ctx, scan{conn: c, sql: s.sql.listUnfinished}, limit, &counts, unfinished); err != nil {
			return err
		}
		return tally(ctx, scan{conn: c, sql: s.sql.list}, limit, &counts, finished)
	})
	return counts, err
}

// tally adds the records of a scan that fit.
func tally(ctx context.Context, scan scan, limit int, counts *store.Counts, fits func(*machine.Record) bool) error {
	states := map[machine.State]int64{}
	more, err := scan.run(ctx, limit, func(row scanned) bool {
		if row.record != nil && fits(row.record) {
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
