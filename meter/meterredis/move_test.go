package meterredis

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
)

// A unit that is made for a line that arrives asks the done log about everything that happened before, whatever a unit of an earlier generation
// says in its place: the clock by which that was written may have been ahead.
func TestArrivalIsNotedInPlaceOfAnEarlierGeneration(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	u := unitOf("line-3", "")
	h := NewHydration(v.book(t), nil, v.days, v.months, v.now)
	old := v.m.client.B().Hset().Key(v.m.names.unit(u)).FieldValue().FieldValue(fieldGeneration, "ace").
		FieldValue(fieldPhase, "3").FieldValue("since", number(v.now.Add(time.Minute).UnixMilli())).Build()
	if err := v.m.client.Do(t.Context(), old).Error(); err != nil {
		t.Fatal(err)
	}
	v.put(t, meter.Gate, 2, "open=yes")
	if err := v.m.Arrive(t.Context(), Step{Line: "line-3", Number: 3}, "", h); err != nil {
		t.Fatal(err)
	}
	checks, err := v.m.Checks(t.Context(), []Delivery{{Event: meter.Event{Line: "line-3"}}})
	if want := Checked("=" + number(v.now.UnixMilli())); err != nil || checks[0] != want {
		t.Errorf("events are decided without the done log since %q, want %q: %v", checks, want, err)
	}
}
