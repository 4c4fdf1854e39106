package explore

import (
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// run calls the action.
func (t *turn) run(i uint8, f *flow.Flow, d flow.Directive) {
	c := t.at(i)
	c.stage, c.acted, c.due = acting, true, t.after(d.For)
	t.hold(i, f)
	if c.verdict != flow.Undecided {
		t.breaks("caller %d runs its action after it was told verdict %d", i, c.verdict)
	}
	if !t.Callers[i].Late {
		t.execute(i)
	}
}

// execute comes to the part of the action which cannot be undone.
func (t *turn) execute(i uint8) {
	t.judgeExecution(i)
	t.at(i).executed = true
}

// followActing carries out a directive for the heartbeat or a late start, beside the running action.
func (t *turn) followActing(i uint8, f *flow.Flow, d flow.Directive, about what) {
	c := t.at(i)
	t.keep(c, *f)
	if d.Verdict != flow.Undecided {
		t.breaks("caller %d is told verdict %d while its action runs", i, d.Verdict)
	}
	switch d.Verb {
	case flow.Send:
		t.send(i, d)
	case flow.Idle:
		c.due = t.after(d.For)
		t.hold(i, f)
	case flow.Run:
		t.hold(i, f)
		t.execute(i)
	case flow.Cancel:
		c.ended = true
		c.refused = c.refused || about == what(flow.Start)
		c.quiet = c.quiet || about == what(flow.Renew)
	default:
		c.quiet = c.quiet || about == what(flow.Renew)
	}
}

// hold notes until when the flow takes its lease for held: the first tick at which it would end the action.
// The flow is asked on a copy.
func (t *turn) hold(i uint8, f *flow.Flow) {
	c := t.at(i)
	for later := range uint8(3 * lease / tick) {
		probe := *f
		switch probe.Beat(time.Duration(later) * tick).Verb {
		case flow.Cancel:
			if later > 0 { // otherwise it ended before now
				c.held = t.now + later
				t.judgeHeld(i, f)
			}
			return
		case flow.Stop:
			return
		}
	}
}

func (t *turn) beat(i uint8) {
	f := t.flowOf(i)
	t.followActing(i, &f, f.Beat(0), what(flow.Renew))
}

func (t *turn) startLate(i uint8) {
	f := t.flowOf(i)
	t.followActing(i, &f, f.StartLate(0), what(flow.Start))
}

func (t *turn) takeEffect(i uint8) {
	t.judgeEffect(i)
	t.at(i).effect = true
}

// finish ends the action. A renewal under way is cut short.
func (t *turn) finish(i uint8, how uint8) {
	c := t.at(i)
	f := t.flowOf(i)
	if c.order != (order{}) {
		if !c.arrived && int(t.lost) < t.Lost {
			t.lost++
			t.delay(c.order)
		}
		t.take(i)
		f.BeatFailed(0, flow.MaybeApplied)
	}
	if (how == answered || how == inDoubtAfter) && t.mayHappen(c) {
		t.takeEffect(i)
	}
	result := flow.Result(min(how, inDoubt))
	c.stage, c.result = sending, result
	c.spent = c.spent || result != flow.Doubtful
	t.follow(i, &f, f.Finished(0, result), machine.Reply{})
}
