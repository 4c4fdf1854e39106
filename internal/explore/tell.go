package explore

import (
	"fmt"

	"github.com/reprise-dev/reprise/machine"
)

// tell describes an event and what it changed, in a line of a trace.
func (m *model) tell(before *world, e event, after *world) string {
	line := fmt.Sprintf("tick %d: %s", before.now, m.tellEvent(before, e))
	for c := range m.candidates() {
		if before.records[c] != after.records[c] {
			line += "; record"
			if c > 0 {
				line += " under the next secret"
			}
			line += " " + m.tellRecord(after, c)
		}
	}
	return line
}

func (m *model) tellRecord(w *world, candidate int) string {
	r := m.record(w, candidate)
	if r == nil {
		return "absent"
	}
	text := fmt.Sprintf("%v, attempt %d, revision %d", r.State, r.Attempt, r.Revision)
	if end := tickOf(r.LeaseEnd); end > 0 && (r.State == machine.Claimed || r.State == machine.Executing) {
		text += fmt.Sprintf(", lease to tick %d", end)
	}
	return text
}

func (m *model) tellEvent(w *world, e event) string {
	who := fmt.Sprintf("caller %d", e.who)
	var c caller
	if int(e.who) < len(w.callers) {
		c = w.callers[e.who]
	}
	switch e.kind {
	case passes:
		return "time passes"
	case begins:
		return who + " begins"
	case arrives:
		return who + ": " + c.order.String() + " arrives, reply " + m.tellReply(w, c)
	case arrivesOnly:
		return who + ": " + c.order.String() + " arrives, reply under way"
	case returns:
		return who + ": reply " + m.allReplies.values[c.reply].Outcome.String()
	case isLost:
		if c.arrived {
			return who + ": reply to " + c.order.String() + " is lost"
		}
		return who + ": no reply to " + c.order.String() + ", which may arrive later"
	case isRefused:
		return who + ": " + c.order.String() + " is refused by the store"
	case isRepeated:
		return who + ": " + c.order.String() + " will arrive once more"
	case arrivesLate:
		return "late: " + w.late[e.who].String()
	case wakes:
		return who + " claims again"
	case leaves:
		return who + " gives up"
	case isSlow:
		return who + ": " + c.order.String() + " is slow"
	case arrivesTwice:
		return who + ": " + c.order.String() + " arrives twice, reply to the second"
	case beats:
		return who + ": the heart beats"
	case starts:
		return who + ": the action starts"
	case takesEffect:
		return who + ": the action takes effect"
	case finishes:
		return who + ": the action ends, " + [...]string{"", "answered", "without effect", "in doubt", "in doubt after an effect"}[e.detail]
	case resolves:
		return "the resolver is asked"
	case operates:
		return "the operator settles"
	}
	return "the sweeper forgets"
}

func (m *model) tellReply(w *world, c caller) string {
	s := m.apply(w.records[c.order.candidate], c.order, w.now)
	return m.allReplies.values[s.reply].Outcome.String()
}
