package explore

import (
	"fmt"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// event is one thing that happens.
type event struct {
	kind   kind
	who    uint8 // a caller; of late commands and settlements, which
	detail uint8
}

type kind uint8

const (
	passes       kind = iota // time does, by a tick
	begins                   // a caller
	arrives                  // its command, and at once the reply
	arrivesOnly              // its command; the reply is still on its way
	returns                  // that reply
	isLost                   // an exchange gets no reply; the command may arrive later, if it did not before
	isRefused                // by the store, in one of the ways in which nothing was applied
	isSlow                   // its command: it arrives after time has passed
	isRepeated               // the command will arrive once more
	arrivesTwice             // the command; the reply is that to the second
	arrivesLate              // such a command; nobody hears the reply
	wakes                    // a caller that waits
	leaves                   // a caller that gives up
	beats                    // the heartbeat
	starts                   // an action comes to the part which cannot be undone
	takesEffect              // an action
	finishes                 // an action
	resolves                 // the resolver is asked, and settles
	operates                 // the operator settles
	sweeps                   // what counts as absent is deleted
)

// turn is a world in which something happens.
type turn struct {
	*model
	world
	broken string // the promise that was broken by it
	idle   bool   // nothing can come of it
}

func (t *turn) at(i uint8) *caller { return &t.callers[i] }

// breaks notes the first promise that is broken.
func (t *turn) breaks(format string, args ...any) {
	if t.broken == "" {
		t.broken = fmt.Sprintf(format, args...)
	}
}

// happen lets an event happen.
func (m *model) happen(w *world, e event) turn {
	t := turn{model: m, world: *w}
	t.perform(e)
	t.bury()
	t.tidy()
	return t
}

func (t *turn) perform(e event) {
	switch e.kind {
	case passes:
		t.pass()
	case begins:
		t.begin(e.who)
	case arrives:
		t.arriveHere(e.who)
		t.deliver(e.who)
	case arrivesOnly:
		t.arriveHere(e.who)
	case returns:
		t.deliver(e.who)
	case isLost:
		t.lost++
		t.lose(e.who)
	case isRefused:
		t.lost++
		t.failed(e.who, flow.Failure(e.detail))
	case isSlow:
		t.at(e.who).fresh = false
	case isRepeated:
		t.repeats++
		t.delay(t.at(e.who).order)
	case arrivesTwice:
		t.repeats++
		t.arriveHere(e.who)
		t.arriveHere(e.who)
		t.deliver(e.who)
	case arrivesLate:
		t.arriveLate(e.who)
	case wakes:
		t.wake(e.who)
	case leaves:
		t.leaves++
		t.leave(e.who)
	case beats:
		t.beat(e.who)
	case starts:
		t.startLate(e.who)
	case takesEffect:
		t.takeEffect(e.who)
	case finishes:
		t.finish(e.who, e.detail)
	case resolves:
		t.resolve(e.who)
	case operates:
		t.operate(e.who)
	case sweeps:
		t.put(order{what: forget, candidate: e.who})
	}
}

// events lists what can happen in a world. The list is good until the next call.
func (m *model) events(w *world, list []event) []event {
	list = list[:0]
	for c := range m.candidates() {
		list = m.eventsOfOthers(w, uint8(c), list)
	}
	for i := range m.Callers {
		if w.callers[i].fresh {
			return m.eventsOnTheWay(w, uint8(i), list)
		}
	}
	if int(w.now) < m.Ticks {
		list = append(list, event{kind: passes})
	}
	for i := range m.Callers {
		list = m.eventsOf(w, uint8(i), list)
	}
	for i, o := range w.late {
		if o != (order{}) && (i == 0 || w.late[i-1] != o) {
			list = append(list, event{kind: arrivesLate, who: uint8(i)})
		}
	}
	return list
}

// eventsOf lists what can happen to a caller.
func (m *model) eventsOf(w *world, i uint8, list []event) []event {
	c := &w.callers[i]
	if c.stage == unborn {
		if m.mayBegin(w, i) {
			list = append(list, event{kind: begins, who: i})
		}
		return list
	}
	if w.mayHappen(c) && m.effectMatters(w, c) {
		list = append(list, event{kind: takesEffect, who: i})
	}
	list = m.eventsOnTheWay(w, i, list)
	switch {
	case c.stage == waiting && m.mayWake(w, c):
		list = append(list, event{kind: wakes, who: i})
	case c.stage == acting:
		list = m.eventsOfAction(w, i, list)
	}
	if int(w.leaves) < m.Leaves && (c.stage == waiting || c.stage == sending && c.order.what == what(flow.Acquire)) {
		list = append(list, event{kind: leaves, who: i})
	}
	return list
}

// mayBegin: time counts from the first caller, unless there is something else to count it from; and
// callers that are alike begin in order.
func (m *model) mayBegin(w *world, i uint8) bool {
	if i == 0 {
		return w.now == 0 || m.Rotate > 0
	}
	return m.Callers[i] != m.Callers[i-1] || w.callers[i-1].stage != unborn
}

// effectMatters reports whether anybody could tell an effect that happens now from one that happens
// later: somebody is about to look, or it is the last moment.
func (m *model) effectMatters(w *world, c *caller) bool {
	if w.now+1 == c.held+longest {
		return true
	}
	for candidate := range m.candidates() {
		if int(w.settles) < m.Settles && m.unknown(w, uint8(candidate)) {
			return true
		}
	}
	return false
}

// eventsOnTheWay lists what can happen to a caller's command and its reply.
func (m *model) eventsOnTheWay(w *world, i uint8, list []event) []event {
	c := &w.callers[i]
	if c.order == (order{}) {
		return list
	}
	add := func(k kind, detail flow.Failure) { list = append(list, event{k, i, uint8(detail)}) }
	mayFail := int(w.lost) < m.Lost
	if c.arrived {
		if c.aged && timed(m.allReplies.values[c.reply].Outcome) {
			add(returns, 0)
		}
		if mayFail {
			add(isLost, 0)
		}
		return list
	}
	if c.fresh {
		add(isSlow, 0)
	}
	if c.fresh || c.aged {
		add(arrives, 0)
		if mayFail || c.stage == acting || c.order.what == what(flow.Acquire) {
			add(arrivesOnly, 0)
		}
	}
	if int(w.repeats) < m.Repeats {
		add(isRepeated, 0)
		add(arrivesTwice, 0)
	}
	if mayFail {
		add(isLost, 0)
		add(isRefused, flow.NotApplied)
		if m.Loses {
			add(isRefused, flow.DataLost)
			add(isRefused, flow.Unreadable)
		}
	}
	return list
}

// timed reports whether it matters to a caller when a reply comes. To the others it is as if it came at
// once, and what they do next were slow.
func timed(o machine.Outcome) bool {
	switch o {
	case machine.Acquired, machine.TakenOver, machine.ReplayedAcquire, machine.Takeable, machine.Barred,
		machine.InProgress, machine.Started, machine.AlreadyStarted:
		return true
	}
	return false
}

// How an action ends.
const (
	answered      = uint8(flow.Answered)
	withoutEffect = uint8(flow.NoEffect)
	inDoubt       = uint8(flow.Doubtful)
	// inDoubtAfter is in doubt, after an effect.
	inDoubtAfter = inDoubt + 1
)

// eventsOfAction lists what a running action can do.
func (m *model) eventsOfAction(w *world, i uint8, list []event) []event {
	c := &w.callers[i]
	busy := c.order != (order{})
	add := func(k kind, detail uint8) { list = append(list, event{k, i, detail}) }
	if !busy && !c.quiet && w.now >= c.due && w.now < c.held {
		add(beats, 0)
	}
	if busy && c.order.what == what(flow.Start) {
		return list // the action waits for it
	}
	if m.Callers[i].Late && !c.executed && !busy {
		add(starts, 0)
	}
	mayHappen := w.mayHappen(c)
	if c.effect || mayHappen || m.Callers[i].Late && !c.executed && !c.refused {
		add(finishes, answered)
	}
	if !c.effect {
		add(finishes, withoutEffect)
	}
	if mayHappen && !m.Certain {
		add(finishes, inDoubtAfter)
	}
	if !m.Certain {
		add(finishes, inDoubt)
	}
	return list
}

// eventsOfOthers lists what resolver, operator and sweeper can do about a record.
func (m *model) eventsOfOthers(w *world, candidate uint8, list []event) []event {
	if int(w.settles) < m.Settles && m.unknown(w, candidate) {
		if m.resolvable(w, candidate) {
			list = append(list, event{kind: resolves, who: candidate})
		}
		list = append(list, event{kind: operates, who: candidate})
	}
	if m.Sweeps {
		list = append(list, event{kind: sweeps, who: candidate})
	}
	return list
}
