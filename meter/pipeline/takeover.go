package pipeline

import (
	"context"
	"time"
)

// takeover is how far a worker has looked at what silent ones have left in a shard.
type takeover struct {
	began     time.Time
	next      string // empty: it has seen all
	dismissed time.Time
}

// deadAfter is after what time without a word a worker that has nothing left is taken for dead, and how often those are looked for.
const deadAfter = time.Hour

// due reports whether there is more to look at, or it is time to begin again.
func (t *takeover) due(every time.Duration) bool { return t.next != "" || time.Since(t.began) > every }

// claim takes over what workers that are silent have left, a batch of it, and goes on there the next time: what this one holds itself, which it
// leaves out, may be more than a batch, and is never to hide what is behind it.
func (w *Worker) claim(ctx context.Context, shard int, silent *takeover, held []delivery) []delivery {
	if silent.next == "" {
		silent.began = time.Now()
		w.dismiss(ctx, shard, silent, silent.began)
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

// dismiss takes the names of workers that died out of a shard, if that was not done lately. What they have left was claimed before.
func (w *Worker) dismiss(ctx context.Context, shard int, silent *takeover, now time.Time) {
	if now.Sub(silent.dismissed) < deadAfter {
		return
	}
	if _, err := w.Streams.Dismiss(ctx, shard, deadAfter); err != nil {
		w.complain(ctx, "dismiss workers that died", err)
		return
	}
	silent.dismissed = now
}
