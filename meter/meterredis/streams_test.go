package meterredis

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// A delivery belongs to one consumer until it is done; what a consumer leaves behind another one claims. What is refused is a dead
// letter once, and can be sent again.
func TestStreams(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMeter(t, servicetest.Redis(t).Database(t))
	s, err := m.OpenStreams(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.OpenStreams(ctx, 5); err != nil {
		t.Fatalf("opened again: %v", err)
	}
	var events []meter.Event
	for i := range 6 {
		events = append(events, meter.Event{ID: fmt.Sprintf("event-%d", i), Line: "line", App: "video", Bytes: 1, At: time.Now()})
	}
	shard := ShardOf("line")
	if err := s.Add(ctx, shard, events...); !errors.Is(err, ErrFull) {
		t.Errorf("six into five: %v", err)
	}
	if err := s.Add(ctx, shard, events[:5]...); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ctx, shard, events[5]); !errors.Is(err, ErrFull) {
		t.Errorf("a sixth: %v", err)
	}
	read := func(consumer string, want int) []Message {
		t.Helper()
		all, err := s.Read(ctx, shard, consumer, 3, time.Millisecond)
		if err != nil || len(all) != want {
			t.Fatalf("%s read %d, %v; want %d", consumer, len(all), err, want)
		}
		return all
	}
	first, second := read("a", 3), read("b", 2)
	read("b", 0)
	own := func(consumer string, want int) {
		t.Helper()
		pending := m.client.B().Xpending().Key(s.names.intake(shard)).Group(group).Start("-").End("+").Count(10).Consumer(consumer).Build()
		if all, err := m.client.Do(ctx, pending).ToArray(); err != nil || len(all) != want {
			t.Errorf("%s has %d deliveries, %v; want %d", consumer, len(all), err, want)
		}
	}
	own("a", 3)
	for from, parts := "", 0; parts == 0 || from != ""; parts++ {
		claimed, next, err := s.Claim(ctx, shard, "b", 0, from, 2)
		if want := []int{2, 2, 1}[min(parts, 2)]; err != nil || len(claimed) != want || parts > 2 {
			t.Fatalf("part %d: claimed %d, %v; want %d", parts, len(claimed), err, want)
		}
		from = next
	}
	refused := []Verdict{{second[1], meter.UnknownLine, "no such line"}}
	for range 2 {
		if err := s.Done(ctx, shard, append(first, second[0]), refused); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := s.DeadLetters(ctx, shard, "", 10)
	if err != nil || len(dead) != 1 || dead[0].Text != second[1].Text || dead[0].Reason != meter.UnknownLine {
		t.Fatalf("dead letters: %+v, %v", dead, err)
	}
	if more, err := s.DeadLetters(ctx, shard, dead[0].ID, 10); err != nil || len(more) != 0 {
		t.Errorf("after the last: %v, %v", more, err)
	}
	for _, want := range []bool{true, false} {
		if sent, err := s.Resend(ctx, dead[0]); sent != want || err != nil {
			t.Errorf("sent again: %v, %v; want %v", sent, err, want)
		}
	}
	if n, err := s.Waiting(ctx); n != 1 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}
	again := read("a", 1)
	if e, err := meter.DecodeEvent([]byte(again[0].Text)); err != nil || e.ID != "event-4" {
		t.Errorf("%+v, %v", e, err)
	}
	for range 2 { // with a delivery, and without
		if err := s.Leave(ctx, "a"); err != nil {
			t.Error(err)
		}
		own("a", len(again))
		if err := s.Done(ctx, shard, again, nil); err != nil {
			t.Fatal(err)
		}
		again = nil
	}
}
