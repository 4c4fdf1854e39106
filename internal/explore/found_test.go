package explore

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// What the proof found in the machine stays as a test here; what it found in the flow is among that
// package's scenarios.

// B saw revision 1 of a claim whose lease had ended, and its claim is late. The holder renews after all and
// releases; then B's late claim makes a new record. When B claims again, that is its own claim, and not one
// with other arguments.
func TestFoundLateClaimMakesARecord(t *testing.T) {
	t.Parallel()
	m := newModel(Setting{Callers: late}, machine.Step)
	acquire := what(flow.Acquire)
	record := uint32(0)
	for _, step := range []struct {
		order order
		now   uint8
		want  machine.Outcome
	}{
		{order{what: acquire, from: 0}, 0, machine.Acquired},
		{order{what: acquire, from: 1}, 3, machine.Takeable},
		{order{what: what(flow.Renew), from: 0, attempt: 1, revision: 1}, 3, machine.Renewed},
		{order{what: acquire, from: 1, seen: 1}, 3, machine.InProgress},
		{order{what: what(flow.Release), from: 0, attempt: 1, revision: 2}, 3, machine.Released},
		{order{what: acquire, from: 1, seen: 1}, 3, machine.Acquired},
		{order{what: acquire, from: 1}, 3, machine.ReplayedAcquire},
	} {
		s := m.apply(record, step.order, step.now)
		if got := m.allReplies.values[s.reply].Outcome; got != step.want || s.broken != "" {
			t.Fatalf("%v: %v, want %v; %s", step.order, got, step.want, s.broken)
		}
		record = s.record
	}
}
