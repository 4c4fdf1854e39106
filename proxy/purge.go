package proxy

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// purgeBatch is how many records are deleted at once. Between batches commands have their turn.
const purgeBatch = 500

// Purge deletes records past their time at every tick, until ctx ends. A store that cannot is left alone:
// such records count as absent in any case.
func (p *Proxy) Purge(ctx context.Context, every time.Duration) {
	purger, ok := store.As[store.Purger](p.store)
	if !ok || every <= 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.purgeDue(ctx, purger)
		}
	}
}

func (p *Proxy) purgeDue(ctx context.Context, purger store.Purger) {
	for ctx.Err() == nil {
		n, err := purger.Purge(ctx, purgeBatch)
		p.metrics.purged.Add(ctx, int64(n))
		if err != nil && ctx.Err() == nil {
			p.log.Warn("records past their time could not be deleted; they count as absent", "error", err)
		}
		if err != nil || n < purgeBatch {
			return
		}
	}
}
