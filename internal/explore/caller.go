package explore

import (
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// A caller does what the guard does: it carries out what its flow says, and decides nothing itself.

// Flows are kept as of now, so that to them it is always the instant zero.

// keep keeps a flow as of now.
func (t *turn) keep(c *caller, f flow.Flow) {
	f = f.Essence(0)
	c.flow = t.allFlows.number(f, f)
}

// pass lets a tick pass for everybody.
func (t *turn) pass() {
	t.now++
	for i := range t.callers {
		c := &t.callers[i]
		c.aged = c.order != (order{})
		if c.stage != unborn && c.stage != gone {
			f := t.allFlows.values[c.flow].Essence(tick)
			c.flow = t.allFlows.number(f, f)
		}
	}
	for i, n := range t.records {
		t.records[i] = t.longPast(n, t.now)
	}
}

// flowOf returns a copy of the caller's flow; follow keeps what becomes of it.
func (t *turn) flowOf(i uint8) flow.Flow { return t.allFlows.values[t.at(i).flow] }

// after returns the first tick at which d has passed.
func (t *turn) after(d time.Duration) uint8 { return t.now + uint8((max(d, 0)+tick-1)/tick) }

func (t *turn) begin(i uint8) {
	f := flow.New(t.config(int(i)))
	t.follow(i, &f, f.Begin(0), machine.Reply{})
}

// follow carries out a directive, unless the action runs; see followActing. The reply is the one that led
// to it, if one did.
func (t *turn) follow(i uint8, f *flow.Flow, d flow.Directive, reply machine.Reply) {
	c := t.at(i)
	t.keep(c, *f)
	if d.Verdict != flow.Undecided {
		t.told(i, d.Verdict, reply)
	}
	switch {
	case d.Verb == flow.Send:
		c.stage = sending
		t.send(i, d)
	case d.Verb == flow.Wait:
		c.stage, c.due = waiting, t.after(d.For)
		c.place, c.watched = uint8(d.Candidate), uint8(d.Revision)
	case d.Verb == flow.Run:
		t.run(i, f, d)
	default:
		t.end(i)
	}
}

// send puts a command on its way.
func (t *turn) send(i uint8, d flow.Directive) {
	c := t.at(i)
	c.order, c.fresh, c.aged = orderOf(int(i), c, d), true, false
}

// end stops a caller that has nothing left to do.
func (t *turn) end(i uint8) {
	c := t.at(i)
	if c.verdict == flow.Undecided {
		t.breaks("caller %d ended without an answer", i)
	}
	c.stage = gone
}

func (m *model) mayWake(w *world, c *caller) bool {
	revision := uint8(0)
	if r := m.record(w, int(c.place)); r != nil {
		revision = uint8(r.Revision)
	}
	return w.now >= c.due || revision != c.watched
}

func (t *turn) wake(i uint8) {
	c := t.at(i)
	c.order, c.due, c.place, c.watched = order{}, 0, 0, 0
	f := t.flowOf(i)
	t.follow(i, &f, f.Woken(0), machine.Reply{})
}

// leave is a caller's context that ends: it cuts short what is under way. The guard then tells the flow,
// unless it has an answer already.
func (t *turn) leave(i uint8) {
	c := t.at(i)
	f := t.flowOf(i)
	if c.stage == sending {
		if !c.arrived {
			t.delay(c.order)
		}
		t.take(i)
		if d := f.Failed(0, flow.MaybeApplied); d.Verdict != flow.Undecided {
			t.follow(i, &f, d, machine.Reply{})
			return
		}
	}
	c.order, c.due, c.place, c.watched = order{}, 0, 0, 0
	t.follow(i, &f, f.Leave(), machine.Reply{})
}
