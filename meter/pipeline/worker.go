package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Worker takes events from the streams to the done log. Any number of workers, in any number of processes, share the
// work. Make one with [NewWorker].
type Worker struct {
	WorkerOptions
	name     string
	appender *appender
	news     news
}

// WorkerOptions are what a worker works with.
type WorkerOptions struct {
	Meter     *meterredis.Meter
	Streams   *meterredis.Streams
	Ledger    *meterledger.Ledger
	Directory *Directory
	// Log is told what went wrong; nil is nobody.
	Log *slog.Logger
	// Batch is how many events are read at once, which share a commit; 0 is 1,000. More than the ledger takes at once are more commits.
	Batch int
	// Idle is after what time of silence the deliveries of another worker are taken over; 0 is 30 s. It has to be longer than
	// a batch takes: a batch that is dealt with twice is harmless, and twice the work.
	Idle time.Duration
}

// NewWorker returns a worker with a name that no other has.
func NewWorker(o WorkerOptions) *Worker {
	if o.Batch == 0 {
		o.Batch = 1000
	}
	if o.Idle == 0 {
		o.Idle = 30 * time.Second
	}
	return &Worker{WorkerOptions: o, name: rand.Text(), appender: &appender{ledger: o.Ledger}}
}

// delivery is an event on its way, and where it came from.
type delivery struct {
	message meterredis.Message
	taken   meterledger.Taken // from the inbox; its number is 0 if it came from a stream
	text    string
}

const (
	// readWait is for how long a read waits for the first event.
	readWait = 500 * time.Millisecond
	// retryPause is the pause before events are decided again that could not be.
	retryPause = 500 * time.Millisecond
	// waitingBatches is how many batches of events of a shard a worker holds that cannot be decided yet.
	waitingBatches = 10
)

// gate is what is told about while nothing is decided at all.
const gate = "the gate"

// Run works until ctx ends, then finishes what it has read. What cannot be done is tried again.
func (w *Worker) Run(ctx context.Context) {
	var group sync.WaitGroup
	for shard := range meterredis.Shards {
		group.Go(func() { w.serve(ctx, shard) })
	}
	group.Go(func() { w.serveInbox(ctx) })
	group.Wait()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWait)
	defer cancel()
	if err := w.Streams.Leave(leave, w.name); err != nil { // its name stays, and others claim what is left under it
		w.complain(leave, "the streams", err)
	}
}

// serve works on a shard. What cannot be decided yet, such as the events of a unit that is closed, waits beside the others and
// is tried again: it keeps nobody else's events from being read, until there is very much of it.
func (w *Worker) serve(ctx context.Context, shard int) {
	var waiting []delivery
	var tried time.Time
	var silent takeover
	for ctx.Err() == nil {
		if err := w.Meter.GateOpen(ctx); err != nil {
			w.complain(ctx, gate, err)
			pause(ctx, retryPause)
			continue
		}
		w.news.over(gate)
		var batch []delivery
		if time.Since(tried) > retryPause {
			tried = time.Now()
			n := min(len(waiting), w.Batch)
			batch, waiting = append(batch, waiting[:n]...), waiting[n:]
		}
		if len(waiting) < waitingBatches*w.Batch {
			if silent.due(w.Idle / 2) {
				batch = append(batch, w.claim(ctx, shard, &silent, append(batch, waiting...))...)
			}
			batch = append(batch, w.read(ctx, shard, len(batch) > 0)...)
		} else {
			pause(ctx, retryPause)
		}
		if len(batch) > 0 {
			waiting = append(waiting, w.work(context.WithoutCancel(ctx), shard, batch)...)
		}
	}
}

// read returns what nobody has had yet, and waits for it a little unless there is something else to do.
func (w *Worker) read(ctx context.Context, shard int, busy bool) []delivery {
	wait := readWait
	if busy {
		wait = time.Millisecond
	}
	messages, err := w.Streams.Read(ctx, shard, w.name, int64(w.Batch), wait)
	if err != nil {
		w.complain(ctx, "read", err)
		pause(ctx, retryPause)
	}
	return deliveriesOf(messages)
}

func deliveriesOf(messages []meterredis.Message) (all []delivery) {
	for _, m := range messages {
		all = append(all, delivery{message: m, text: m.Text})
	}
	return all
}

// work decides deliveries and appends what was decided. It returns those that are to be decided again.
func (w *Worker) work(ctx context.Context, shard int, deliveries []delivery) (again []delivery) {
	fates := w.record(ctx, deliveries)
	var done []meterredis.Message
	var refused []meterredis.Verdict
	for i, f := range fates {
		d := deliveries[i]
		switch {
		case f.err != nil:
			again = append(again, d)
		case f.why != nil:
			refused = append(refused, meterredis.Verdict{Message: d.message, Reason: f.why.Reason, Detail: f.why.Detail})
		case f.done:
			done = append(done, d.message)
		}
	}
	w.waits(ctx, fates)
	if err := w.Streams.Done(ctx, shard, done, refused); err != nil {
		w.complain(ctx, "acknowledge", err) // they are claimed and found done later
	}
	return again
}

// record has deliveries decided, appends what was decided, and then lets it expire in Redis. A delivery is dealt with when all of
// that was done: whoever stops before comes upon it again. At once it has as many as the ledger takes: a worker may hold what it read, what it
// claimed and what waited, and more than that would never be appended, however often it is tried.
func (w *Worker) record(ctx context.Context, deliveries []delivery) (all []fate) {
	for part := range slices.Chunk(deliveries, meterledger.MaxBatch) {
		fates := w.decide(ctx, part)
		w.commit(ctx, fates)
		w.settle(ctx, fates)
		all = append(all, fates...)
	}
	return all
}

// commit appends the rows of what was decided. What could not be appended is decided again, unless it is the row that is refused.
func (w *Worker) commit(ctx context.Context, fates []fate) {
	generations := map[meter.Generation][]*fate{}
	for i := range fates {
		if f := &fates[i]; f.row != nil && f.err == nil && !f.done {
			generations[f.row.Result.Generation] = append(generations[f.row.Result.Generation], f)
		}
	}
	for g, decided := range generations {
		rows := make([]meter.Row, len(decided))
		for i, f := range decided {
			rows[i] = *f.row
		}
		for i, a := range w.appender.append(ctx, g, rows) {
			decided[i].recorded(a)
		}
	}
}

// recorded notes what became of a row. One that is refused would be so again; Redis has counted it, and knows it for as long as there is no row.
func (f *fate) recorded(a appended) {
	if a.err != nil {
		refusal, refused := errors.AsType[*meter.Refusal](a.err)
		if f.err = a.err; refused {
			f.refuse(&meter.Refusal{Reason: meter.BadRow, Field: refusal.Field,
				Detail: "Redis has counted it, and it has no row: put right what is said here, then send it again, which counts it no second time: " + refusal.Detail})
		}
		return
	}
	switch a.Outcome {
	case meterledger.OtherEvent:
		f.refuse(&meter.Refusal{Reason: meter.OtherContent, Field: "event_id",
			Detail: "this line's event of this id was another, and Redis did not know it any more: what it took is too much, run `reprise meter audit`"})
	case meterledger.DecidedOtherwise:
		f.refuse(&meter.Refusal{Reason: reasonStuck, Detail: "it was decided before, with another result, and Redis did not know that any more: run `reprise meter audit`"})
	case meterledger.Purged:
		f.refuse(&meter.Refusal{Reason: meter.TooOld, Field: "occurred_at", Detail: "rows of its day were purged while it was decided: what it took in Redis is too much, run `reprise meter audit`"})
	default:
		f.done = true
	}
}

// settle lets expire what is in SQL by now. What could not be settled is dealt with again: else it would stay in Redis for good.
func (w *Worker) settle(ctx context.Context, fates []fate) {
	var rows []meter.Row
	for _, f := range fates {
		if f.done && f.row != nil {
			rows = append(rows, *f.row)
		}
	}
	if len(rows) == 0 {
		return
	}
	err := w.Meter.Settle(ctx, rows)
	for i := range fates {
		if f := &fates[i]; err != nil && f.done && f.row != nil {
			f.done, f.err = false, fmt.Errorf("its row is there, and cannot be let expire in Redis: %w", err)
		}
	}
}

// waits tells why events wait.
func (w *Worker) waits(ctx context.Context, fates []fate) {
	for _, f := range fates {
		if f.err != nil {
			w.news.wait(ctx, w.Log, f.event, f.err)
		}
	}
}

func (w *Worker) complain(ctx context.Context, what string, err error) {
	w.news.tell(ctx, w.Log, what, err)
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
