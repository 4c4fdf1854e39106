package explore

import (
	"fmt"

	"github.com/reprise-dev/reprise/internal/flow"
)

// maxLate is how many commands can be under way late at a time. One more is a command that never arrives.
const maxLate = 5

// world is everything that there is at one moment. It is comparable; what is large is kept in the tables
// of a model, and named here by its number.
type world struct {
	now     uint8
	records [2]uint32 // by candidate
	callers [MaxCallers]caller
	late    [maxLate]order // sorted; they may arrive at any time, or never

	lost, repeats, leaves, settles uint8 // used up

	answer uint8 // that was handed out: 1 + the number of the caller whose action gave it
	denied bool  // it was settled that nothing happened
}

// stage is what a caller does.
type stage uint8

const (
	unborn  stage = iota
	sending       // a command is under way
	waiting       // for another's answer
	acting        // its action runs; a renewal or a late start may be under way
	gone          // ended or stopped
)

// caller is one invocation: its flow, what is under way for it, and what its action did.
type caller struct {
	flow  uint32
	reply uint32 // on its way back, when arrived
	order order  // under way
	stage stage

	fresh   bool // the command was sent just now
	arrived bool // it was applied
	aged    bool // time has passed since the one or the other

	due     uint8 // when to beat next, or to wake up
	place   uint8 // the candidate that is waited on
	watched uint8 // and its revision
	quiet   bool  // the heartbeat has ended

	acted    bool  // the action was called
	executed bool  // it came to the part which cannot be undone
	effect   bool  // it took effect
	spent    bool  // it can take no effect any more
	ended    bool  // told that the lease is lost
	refused  bool  // its late start was refused
	held     uint8 // until when the flow takes the lease for held
	result   flow.Result
	verdict  flow.Verdict
}

// order is a command under way, small enough to be part of a world.
type order struct {
	what      what
	from      uint8 // the caller, or the number of the settlement
	candidate uint8
	seen      uint8
	attempt   uint8
	revision  uint8
	detail    uint8 // of Fail the result, of a settlement the answer
}

// what is a command: one of a flow's, or of the others who send some.
type what uint8

const (
	completeOther what = iota + 32 // a completion with another window
	settleHappened
	settleNever
	forget
)

func (w what) String() string {
	switch w {
	case what(flow.Acquire):
		return "acquire"
	case what(flow.Start):
		return "start"
	case what(flow.Renew):
		return "renew"
	case what(flow.Complete):
		return "complete"
	case what(flow.Fail):
		return "fail"
	case what(flow.Withdraw):
		return "withdraw"
	case what(flow.Release):
		return "release"
	case what(flow.Ask):
		return "ask"
	case what(flow.Inspect):
		return "inspect"
	case completeOther:
		return "complete with another window"
	case settleHappened:
		return "settle as happened"
	case settleNever:
		return "settle as retryable"
	case forget:
		return "forget"
	}
	return "nothing"
}

func (o order) String() string {
	text := fmt.Sprintf("%v of %d", o.what, o.from)
	switch {
	case o.seen != 0:
		text += fmt.Sprintf(" having seen %d", o.seen)
	case o.revision != 0:
		text += fmt.Sprintf(" at attempt %d revision %d", o.attempt, o.revision)
	}
	return text
}

func (o order) less(p order) bool {
	switch {
	case o.what != p.what:
		return o.what > p.what // nothing comes last
	case o.from != p.from:
		return o.from < p.from
	case o.candidate != p.candidate:
		return o.candidate < p.candidate
	case o.seen != p.seen:
		return o.seen < p.seen
	case o.attempt != p.attempt:
		return o.attempt < p.attempt
	case o.revision != p.revision:
		return o.revision < p.revision
	}
	return o.detail < p.detail
}

// delay puts a command among those that may arrive later.
func (w *world) delay(o order) {
	for i := range w.late {
		if w.late[i] == (order{}) || o.less(w.late[i]) {
			o, w.late[i] = w.late[i], o
		}
	}
}

// arrive takes a command from those.
func (w *world) arrive(i int) order {
	o := w.late[i]
	copy(w.late[i:], w.late[i+1:])
	w.late[maxLate-1] = order{}
	return o
}

// mayHappen reports whether the effect of a caller's action can still come.
func (w *world) mayHappen(c *caller) bool {
	return c.executed && !c.effect && !c.spent && w.now < c.held+longest
}

// tidy forgets what can no longer matter, so that worlds which behave alike are one.
func (w *world) tidy() {
	for i := range w.callers {
		c := &w.callers[i]
		if !w.mayHappen(c) {
			c.spent = c.spent || c.executed && c.stage != acting
			if c.stage != acting {
				c.held = 0
			}
		}
		switch c.stage {
		case acting:
			continue
		case gone:
			kept := caller{stage: gone, effect: c.effect, executed: c.effect}
			if w.mayHappen(c) {
				kept.executed, kept.held = true, c.held
			}
			*c = kept
		case sending:
			c.due = 0
		}
		c.quiet, c.ended, c.refused = false, false, false
		if c.effect {
			c.spent = true
		}
	}
}
