package pipeline

import (
	"context"
	"time"
)

// takeover is how far a worker has looked at what silent ones have left in a shard.
type takeover struct {
	began time.Time
	next  string // empty: it has seen all
}

// due reports whether there is more to look at, or it is time to begin again.
func (t *takeover) due(every time.Duration) bool { return t.next != "" || time.Since(t.began) > every }

// claim takes over what workers that are silent have left, a batch of it, and goes on there the next time: what this one holds itself, which it
// leaves out, may be more than a batch, and is never to hide what is behind it.
func (w *Worker) claim(ctx context.Context, shard int, silent *takeover, held []delivery) []delivery {
	if silent.next == "" {
		silent.began = time.Now()
	}
	messages, next, err := w.Streams.Claim(ctx, shard, w.name, w.Idle, silent.next, int64(w.Batch))
	if err != nil {
		w.complain(ctx, "take over deliveries", err)
	}
	silent.next = next
	mine := map[string]bool{}
	for _, d := range held {
		mine[d.message.ID] = true
	}
	var taken []delivery
	for _, d := range deliveriesOf(messages) {
		if !mine[d.message.ID] {
			taken = append(taken, d)
		}
	}
	return taken
}
