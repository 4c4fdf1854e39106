package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Intake takes in events. It may be used by several goroutines.
type Intake struct {
	Meter     *meterredis.Meter
	Streams   *meterredis.Streams
	Ledger    *meterledger.Ledger
	Directory *Directory
	Horizon   meter.Horizon
	// Durable puts events into the inbox in SQL instead of into Redis: what was accepted survives the loss of Redis.
	Durable bool
}

// Receipt says what became of an event at intake.
type Receipt struct {
	Event meter.Event
	// Err is nil for an event that was taken in. Otherwise it is a [*meter.Refusal], [meterredis.ErrFull], or an error of
	// package store: indeterminate if the event may have been taken in, and then sending it again is harmless.
	Err error
	// Durable says that the event is in SQL.
	Durable bool
}

// Accept checks events and takes in those that can be decided. Each has a receipt, in their order. The error is one that
// all have in common: a closed gate, or a database that cannot be asked; then none was taken in.
func (in *Intake) Accept(ctx context.Context, now time.Time, events []meter.Event) ([]Receipt, error) {
	if !in.Durable {
		if err := in.Meter.GateOpen(ctx); err != nil {
			return nil, err
		}
	}
	receipts := make([]Receipt, len(events))
	lines := make([]string, len(events))
	for i, e := range events {
		receipts[i].Event, lines[i] = e, e.Line
	}
	in.Directory.In(in.Meter.Generation())
	known, err := in.Directory.Lines(ctx, now, lines...)
	if err != nil {
		return nil, err
	}
	for i := range receipts {
		_, listed := known[receipts[i].Event.Line]
		if receipts[i].Err, err = in.check(ctx, now, receipts[i].Event, listed); err != nil {
			return nil, err
		}
	}
	if in.Durable {
		return receipts, in.keep(ctx, receipts)
	}
	in.queue(ctx, receipts)
	return receipts, nil
}

// check says why an event cannot be taken in.
func (in *Intake) check(ctx context.Context, now time.Time, e meter.Event, listed bool) (refusal, err error) {
	if refusal := e.Validate(); refusal != nil {
		return refusal, nil
	}
	if refusal := in.Horizon.Accepts(e, now); refusal != nil {
		return refusal, nil
	}
	if !listed {
		return &meter.Refusal{Reason: meter.UnknownLine, Field: "line_id", Detail: "no such line: import it, or correct the id"}, nil
	}
	app, err := in.Directory.HasApp(ctx, now, e.App)
	if err == nil && !app {
		refusal = &meter.Refusal{Reason: meter.UnknownApp, Field: "app_id", Detail: "no such app: import it, or correct the id"}
	}
	return refusal, err
}

// keep puts events into the inbox.
func (in *Intake) keep(ctx context.Context, receipts []Receipt) error {
	var events []meter.Event
	for _, r := range receipts {
		if r.Err == nil {
			events = append(events, r.Event)
		}
	}
	if len(events) == 0 {
		return nil
	}
	if err := in.Ledger.PutInbox(ctx, events); err != nil {
		return err
	}
	for i := range receipts {
		receipts[i].Durable = receipts[i].Err == nil
	}
	return nil
}

// queue puts events into their streams, those of one together.
func (in *Intake) queue(ctx context.Context, receipts []Receipt) {
	shards := map[int][]int{}
	for i, r := range receipts {
		if r.Err == nil {
			shard := meterredis.ShardOf(r.Event.Line)
			shards[shard] = append(shards[shard], i)
		}
	}
	for shard, at := range shards {
		events := make([]meter.Event, len(at))
		for n, i := range at {
			events[n] = receipts[i].Event
		}
		if err := in.Streams.Add(ctx, shard, events...); err != nil {
			for _, i := range at {
				receipts[i].Err = err
			}
		}
	}
}

// ErrNotDecided is the error of waiting for a decision that did not come in time. It may come later.
var ErrNotDecided = errors.New("the event was taken in, and is not decided yet")

// Await waits until the row of an event is committed, and returns it.
func (in *Intake) Await(ctx context.Context, e meter.Event) (meter.Row, error) {
	awaited := in.AwaitAll(ctx, []meter.Event{e})
	return awaited[0].Row, awaited[0].Err
}

// Awaited is what became of an event that was waited for.
type Awaited struct {
	Row meter.Row
	Err error // [ErrNotDecided], a [*meter.Refusal], or an error of package store
}

// AwaitAll waits until the rows of events are committed, of each or until ctx ends.
func (in *Intake) AwaitAll(ctx context.Context, events []meter.Event) []Awaited {
	all := make([]Awaited, len(events))
	missing := make([]int, len(events))
	for i := range events {
		all[i].Err, missing[i] = ErrNotDecided, i
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := 5 * time.Millisecond; len(missing) > 0; pause = min(2*pause, 250*time.Millisecond) {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return all
		}
		still, err := in.lookUp(ctx, events, missing, all)
		if err != nil && ctx.Err() == nil {
			for _, i := range missing {
				all[i].Err = err
			}
			return all
		}
		missing = still
		timer.Reset(pause)
	}
	return all
}

// lookUp notes those rows that are there, and returns the others.
func (in *Intake) lookUp(ctx context.Context, events []meter.Event, missing []int, all []Awaited) (still []int, err error) {
	ids := make([]meterledger.Identity, len(missing))
	for n, i := range missing {
		ids[n] = meterledger.Identity{Line: events[i].Line, Event: events[i].ID}
	}
	found, err := in.Ledger.LookupDone(ctx, ids)
	if err != nil {
		return missing, err
	}
	for n, i := range missing {
		row, there := found[ids[n]]
		switch {
		case !there:
			still = append(still, i)
		case row.Event.Digest() != events[i].Digest():
			all[i].Err = &meter.Refusal{Reason: meter.OtherContent, Field: "event_id", Detail: "this line's event of this id was another: give the event an id of its own"}
		default:
			all[i] = Awaited{Row: row.Row}
		}
	}
	return still, nil
}
