package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Purge deletes the records that count as absent, in bounded steps, until none is left or the context
// ends. It returns how many it deleted, also beside an error; calling it again goes on. progress is
// called after each step with the number so far; it may be nil.
func (s *Service) Purge(ctx context.Context, progress func(deleted int)) (int, error) {
	purger, err := need[store.Purger](s.store, "purge")
	if err != nil {
		return 0, err
	}
	deleted := 0
	for {
		n, err := purger.Purge(ctx, s.options.Batch)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("purging: %w", err)
		}
		if progress != nil {
			progress(deleted)
		}
		if n < s.options.Batch {
			return deleted, nil
		}
	}
}

// Stats are numbers of records. The JSON names are part of what users rely on.
type Stats struct {
	// States are the numbers by judged state; each state is there.
	States map[string]int64 `json:"states"`
	// Due is the number of records that count as absent and can be purged.
	Due int64 `json:"due"`
	// At is the store's time at which they were counted. Sampled marks an estimate.
	At      time.Time `json:"at"`
	Sampled bool      `json:"sampled"`
}

// Stats counts.
func (s *Service) Stats(ctx context.Context) (Stats, error) {
	counter, err := need[store.Counter](s.store, "count records")
	if err != nil {
		return Stats{}, err
	}
	counts, err := counter.Count(ctx)
	if err != nil {
		return Stats{}, fmt.Errorf("counting records: %w", err)
	}
	stats := Stats{States: map[string]int64{}, Due: counts.Due, At: counts.At.Time(), Sampled: counts.Sampled}
	for state := machine.Claimed; state <= machine.Expired; state++ {
		stats.States[state.String()] = counts.States[state]
	}
	return stats, nil
}
