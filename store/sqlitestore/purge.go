package sqlitestore

import (
	"context"
	"database/sql/driver"
	"math"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// purgeBatch is how many rows one transaction deletes: commands wait for no more than that.
const purgeBatch = 200

// Purge implements [store.Purger]. It deletes in transactions of 200 rows, between which commands run.
// What was deleted before an error stays deleted, and is counted.
func (s *Store) Purge(ctx context.Context, limit int) (int, error) {
	if err := store.PurgeLimit(limit); err != nil {
		return 0, err
	}
	deleted := 0
	batch := purge{after: math.MinInt64}
	for deleted < limit && !batch.exhausted {
		batch.limit, batch.deleted = min(purgeBatch, limit-deleted), 0
		if err := s.do(ctx, batch.run); err != nil {
			return deleted, err
		}
		deleted += batch.deleted
	}
	return deleted, nil
}

// purge is one batch after another, in the order in which records are due.
type purge struct {
	limit     int
	deleted   int
	after     int64 // forget_at and id of the last row of the last batch
	afterID   int64
	exhausted bool
}

func (p *purge) run(t *transaction, now time.Time) error {
	at := machine.InstantOf(now)
	var due []int64
	seen := 0
	err := t.conn.query(dueSQL, 4, func(row []driver.Value) error {
		seen++
		p.after, _ = row[0].(int64)
		p.afterID, _ = row[1].(int64)
		digest, err := digestOf(row[2])
		if err != nil {
			return nil // a damaged row stays for somebody to look at
		}
		packed, _ := row[3].([]byte)
		record, err := decode(digest, packed)
		if err != nil {
			return nil
		}
		// The column says when; the record decides.
		if state, _ := record.Judge(at); state == machine.Absent {
			due = append(due, p.afterID)
		}
		return nil
	}, int64(at), p.after, p.afterID, int64(p.limit))
	if err != nil {
		return err
	}
	for _, id := range due {
		if _, err := t.deleting.exec(id); err != nil {
			return err
		}
	}
	p.deleted, p.exhausted = len(due), seen < p.limit
	return nil
}
