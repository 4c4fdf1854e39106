package explore

import (
	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// put applies a command to its record, and returns the number of the reply.
func (t *turn) put(o order) uint32 {
	before := t.records[o.candidate]
	s := t.apply(before, o, t.now)
	if s.broken != "" {
		t.breaks("%s", s.broken)
	}
	t.idle = s.record == before
	if !t.idle {
		t.records[o.candidate] = s.record
		t.judgeChange(o, t.record(&t.world, int(o.candidate)))
	}
	return s.reply
}

// arriveHere applies the command that a caller has under way.
func (t *turn) arriveHere(i uint8) {
	c := t.at(i)
	c.reply = t.put(c.order)
	c.arrived, c.fresh, c.aged = true, false, false
	t.idle = false
}

// arriveLate applies a command to which nobody listens any more.
func (t *turn) arriveLate(i uint8) { t.put(t.arrive(int(i))) }

// take ends the exchange that a caller has under way.
func (t *turn) take(i uint8) (o order, reply machine.Reply) {
	c := t.at(i)
	o, reply = c.order, t.allReplies.values[c.reply]
	c.order, c.reply, c.arrived, c.fresh, c.aged = order{}, 0, false, false, false
	return o, reply
}

// lose ends an exchange without a reply. A command that did not arrive may do so later.
func (t *turn) lose(i uint8) {
	if c := t.at(i); !c.arrived {
		t.delay(c.order)
	}
	t.failed(i, flow.MaybeApplied)
}

// deliver gives a caller the reply that is on its way.
func (t *turn) deliver(i uint8) {
	c := t.at(i)
	o, reply := t.take(i)
	f := t.flowOf(i)
	switch {
	case c.stage != acting:
		t.follow(i, &f, f.Replied(0, reply), reply)
	case o.what == what(flow.Renew):
		t.followActing(i, &f, f.BeatReplied(0, reply), o.what)
	default:
		t.followActing(i, &f, f.Replied(0, reply), o.what)
	}
	if t.Callers[i].Stubborn && o.what == what(flow.Complete) && c.verdict == flow.Recorded {
		o.what = completeOther
		t.delay(o)
	}
}

// failed tells a caller that it gets no reply.
func (t *turn) failed(i uint8, failure flow.Failure) {
	c := t.at(i)
	o, _ := t.take(i)
	f := t.flowOf(i)
	switch {
	case c.stage != acting:
		t.follow(i, &f, f.Failed(0, failure), machine.Reply{})
	case o.what == what(flow.Renew):
		t.followActing(i, &f, f.BeatFailed(0, failure), o.what)
	default:
		t.followActing(i, &f, f.Failed(0, failure), o.what)
	}
}
