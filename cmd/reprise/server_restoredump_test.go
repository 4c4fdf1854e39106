package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/store"
)

// meterTraffic is a process that takes in usage and decides it.
type meterTraffic struct {
	*restoreSite
	meter     *meterredis.Meter
	streams   *meterredis.Streams
	directory *pipeline.Directory
}

func (s *restoreSite) traffic() *meterTraffic {
	s.t.Helper()
	m, err := meterredis.Open(s.t.Context(), s.redis, meterredis.Options{Horizon: s.horizon}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = m.Close() })
	streams, err := m.OpenStreams(s.t.Context(), 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	return &meterTraffic{s, m, streams, pipeline.NewDirectory(s.ledger, time.Minute)}
}

// work decides until stop.
func (f *meterTraffic) work() (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		pipeline.NewWorker(pipeline.WorkerOptions{Meter: f.meter, Streams: f.streams, Ledger: f.ledger, Directory: f.directory, Idle: 500 * time.Millisecond}).Run(ctx)
	})
	return func() {
		cancel()
		group.Wait()
	}
}

func (f *meterTraffic) accept(durable bool, events []meter.Event) error {
	in := &pipeline.Intake{Meter: f.meter, Streams: f.streams, Ledger: f.ledger, Directory: f.directory, Horizon: f.horizon, Durable: durable}
	receipts, err := in.Accept(f.t.Context(), time.Now(), events)
	for _, r := range receipts {
		err = errors.Join(err, r.Err)
	}
	return err
}

func (f *meterTraffic) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// recorded waits until events have rows.
func (f *meterTraffic) recorded(events []meter.Event) {
	f.t.Helper()
	eventually(f.t, "every event has a row", func() bool {
		var ids []meterledger.Identity
		for _, e := range events {
			ids = append(ids, meterledger.Identity{Line: e.Line, Event: e.ID})
		}
		found, err := f.ledger.LookupDone(f.t.Context(), ids)
		return err == nil && len(found) == len(ids)
	})
}

func eventsOf(kind string, n int, at time.Time) (all []meter.Event) {
	for i := range n {
		all = append(all, meter.Event{ID: fmt.Sprint(kind, "-", i), Line: fmt.Sprint("line-", i%20), App: "video", Bytes: 7, At: at.Truncate(time.Microsecond)})
	}
	return all
}

// Redis is started from an older dump, with events that wait in it. It decides nothing by itself, is assessed as stale, and is restored
// by one command: what was accepted counts once, whether it is in the dump, in the inbox or recorded since, and what nobody can
// decide any more is listed by event.
func TestRestoreFromAnOlderDump(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 20)
	f := s.traffic()
	now := time.Now()
	before, waits, since, durable := eventsOf("before", 40, now), eventsOf("waits", 30, now), eventsOf("since", 50, now), eventsOf("durable", 15, now)
	stop := f.work()
	f.must(f.accept(false, before))
	f.recorded(before)
	stop()
	if _, err := s.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
		t.Fatal(err)
	}
	f.must(f.accept(false, waits))
	late := eventsOf("late", 1, now.AddDate(0, -4, 0))
	f.must(f.streams.Add(t.Context(), meterredis.ShardOf(late[0].Line), late...))
	dump := s.server.Dump()

	stop = f.work()
	f.must(f.accept(true, durable[:5]))
	f.must(f.accept(false, since))
	f.recorded(append(append(waits, since...), durable[:5]...))
	stop()
	s.server.RestartFrom(dump)
	if err := f.accept(false, eventsOf("refused", 1, now)); err == nil {
		t.Error("an older Redis takes events in")
	}
	if _, err := f.meter.Deduct(t.Context(), meterredis.Delivery{Event: eventsOf("refused", 1, now)[0]}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an older Redis decides: %v", err)
	}
	f.must(f.accept(true, durable[5:])) // SQL is there
	s.call(exitDifferent, "assess").has("stale", "20 units")
	s.call(exitLost, "start", "--why", "an older dump").has("complete, verified, and the gate is open",
		"31 events are there: 30 are in the done log", "10 events are there: 0 are in the done log", "line-0 late-0", "its month is over")
	s.call(exitLost, "certificate").has("1 lost", "line-0 late-0")

	// A process that still has the old generation would hold what it takes from the inbox for a minute, before it has learnt the new one.
	again := s.traffic()
	defer again.work()()
	f.must(again.accept(false, append(before, since[:10]...)))
	f.recorded(durable)
	i := &inspect.Inspector{Meter: again.meter, Ledger: s.ledger, Horizon: s.horizon}
	report, err := i.Audit(t.Context(), time.Now(), 20*time.Second)
	if err != nil || !report.Clean() || report.Events != 135 {
		t.Errorf("%+v, %v", report, err)
	}
	s.call(0, "verify", "--patience", "1s").has("all equal")
}
