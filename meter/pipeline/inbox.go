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
			deliveries[i] = delivery{taken: t, text: t.Text}
		}
		w.workInbox(context.WithoutCancel(ctx), deliveries)
	}
}

// workInbox decides what was taken from the inbox. What could not be decided is taken again when its lease ends. What was refused leaves the inbox when
// it is among the dead letters.
func (w *Worker) workInbox(ctx context.Context, deliveries []delivery) {
	fates := w.record(ctx, deliveries)
	var done []int64
	refused := map[int][]meterredis.Buried{} // by shard
	for i, f := range fates {
		t := deliveries[i].taken
		switch {
		case f.why != nil:
			shard := meterredis.ShardOf(f.event.Line)
			refused[shard] = append(refused[shard], meterredis.Buried{Number: t.Number, Text: t.Text, Received: t.ReceivedAt, Reason: f.why.Reason, Detail: f.why.Detail})
		case f.done:
			done = append(done, t.Number)
		}
	}
	for shard, letters := range refused {
		if err := w.Streams.Bury(ctx, shard, letters...); err != nil {
			w.complain(ctx, "keep dead letters", err)
			continue
		}
		for _, l := range letters {
			done = append(done, l.Number)
		}
	}
	w.waits(ctx, fates)
	if err := w.Ledger.DoneInbox(ctx, done); err != nil {
		w.complain(ctx, "empty the inbox", err)
	}
}
