package sqlitestore

import (
	"context"
	"encoding/binary"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// countLimit is how many rows are counted one by one.
const countLimit = 20_000

// Count implements [store.Counter]. Up to 20,000 records are counted one by one. Beyond that the answers
// are estimated from the first 20,000, which is fair: digests are spread evenly, so the place of the
// 20,000th says how many there are. What is not answered yet is counted one by one up to the same
// number, so that a single unknown outcome among millions of answers is seen.
func (s *Store) Count(ctx context.Context) (store.Counts, error) { return s.count(ctx, countLimit) }

func (s *Store) count(ctx context.Context, limit int) (store.Counts, error) {
	r, err := s.borrow(ctx)
	if err != nil {
		return store.Counts{}, err
	}
	defer s.giveBack(r)
	at := machine.InstantOf(s.now())
	all, err := tally(ctx, r.conn, listSQL, at, limit)
	if err == nil && all.partial {
		err = all.replaceOpen(ctx, r.conn, at, limit)
	}
	if err != nil {
		return store.Counts{}, s.certain(err)
	}
	return store.Counts{States: all.states, Due: all.due, At: at, Sampled: all.partial}, nil
}

// tallied is what a count has seen.
type tallied struct {
	states  map[machine.State]int64
	due     int64
	partial bool    // there are more
	share   float64 // of all digests, that was looked at
}

func tally(ctx context.Context, c *conn, sql string, at machine.Instant, limit int) (tallied, error) {
	t := tallied{states: map[machine.State]int64{}, share: 1}
	scan := scan{conn: c, sql: sql, after: []byte{}}
	more, err := scan.run(ctx, limit, func(row scanned) bool {
		if row.record == nil {
			return true
		}
		if state, _ := row.record.Judge(at); state == machine.Absent {
			t.due++
		} else {
			t.states[state]++
		}
		return true
	})
	if t.partial = more; more {
		t.share = (float64(binary.BigEndian.Uint64(scan.after)) + 1) / (1 << 64)
	}
	return t, err
}

// replaceOpen makes an estimate of all from a part, except for the states before an answer.
func (t *tallied) replaceOpen(ctx context.Context, c *conn, at machine.Instant, limit int) error {
	open, err := tally(ctx, c, listOpenSQL, at, limit)
	if err != nil {
		return err
	}
	t.extrapolate()
	open.extrapolate()
	for _, state := range []machine.State{machine.Claimed, machine.Executing, machine.Retryable, machine.Abandoned} {
		if delete(t.states, state); open.states[state] > 0 {
			t.states[state] = open.states[state]
		}
	}
	return nil
}

// extrapolate turns what was seen of a part into an estimate of all.
func (t *tallied) extrapolate() {
	for state, n := range t.states {
		t.states[state] = int64(float64(n) / t.share)
	}
	t.due = int64(float64(t.due) / t.share)
}
