package pipeline

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/meter/meterredis"
)

// inboxLease is for how long a worker has what it took from the inbox.
const inboxLease = time.Minute

// serveInbox works on the durable inbox, as long as there is something in it.
func (w *Worker) serveInbox(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.Meter.GateOpen(ctx); err != nil {
			pause(ctx, retryPause)
			continue
		}
		taken, err := w.Ledger.TakeInbox(ctx, w.name, w.Batch, inboxLease)
		if err != nil {
			w.complain(ctx, "take from the inbox", err)
		}
		if len(taken) == 0 {
			pause(ctx, retryPause)
			continue
		}
		deliveries := make([]delivery, len(taken))
		for i, t := range taken {
			deliveries[i] = delivery{inbox: t.Number, text: t.Text}
		}
		w.workInbox(context.WithoutCancel(ctx), deliveries)
	}
}

// workInbox decides what was taken from the inbox. What could not be decided is taken again when its lease ends.
func (w *Worker) workInbox(ctx context.Context, deliveries []delivery) {
	fates := w.record(ctx, deliveries)
	var done []int64
	for i, f := range fates {
		d := deliveries[i]
		if f.why != nil {
			shard := meterredis.ShardOf(f.event.Line)
			letter := meterredis.DeadLetter{Shard: shard, Text: d.text, Reason: f.why.Reason, Detail: f.why.Detail}
			if err := w.Streams.Bury(ctx, letter); err != nil {
				w.complain(ctx, "keep a dead letter", err)
				continue
			}
		} else if !f.done {
			continue
		}
		done = append(done, d.inbox)
	}
	w.waits(ctx, fates)
	if err := w.Ledger.DoneInbox(ctx, done); err != nil {
		w.complain(ctx, "empty the inbox", err)
	}
}
