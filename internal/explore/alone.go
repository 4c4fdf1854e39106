package explore

// aloneKey is all on which a caller's way to its end depends when nothing else happens.
type aloneKey struct {
	records [2]uint32
	caller  caller
	who     uint8
	now     uint8
}

// longestWay is how many events a caller may need to its end.
const longestWay = 60

// stuck returns the first caller that cannot reach its end by itself, when from now on nothing fails and
// nobody else does anything: time passes, and what it has under way arrives. It returns -1 if all can.
func (m *model) stuck(w *world) int {
	for i := range m.Callers {
		c := w.callers[i]
		if c.stage == gone {
			continue
		}
		key := aloneKey{w.records, c, uint8(i), w.now}
		ends, known := m.alone[key]
		if !known {
			ends = m.endsAlone(w, uint8(i))
			m.alone[key] = ends
		}
		if !ends {
			return i
		}
	}
	return -1
}

func (m *model) endsAlone(w *world, i uint8) bool {
	now := *w
	for range longestWay {
		if now.callers[i].stage == gone {
			return true
		}
		now = m.happen(&now, m.nextAlone(&now, i)).world
	}
	return false
}

// nextAlone is what happens next to a caller to whom nothing bad happens.
func (m *model) nextAlone(w *world, i uint8) event {
	c := &w.callers[i]
	switch {
	case c.stage == unborn:
		return event{kind: begins, who: i}
	case c.arrived:
		return event{kind: returns, who: i}
	case c.stage == waiting && m.mayWake(w, c):
		return event{kind: wakes, who: i}
	case c.stage == waiting:
		return event{kind: passes}
	case c.order != (order{}):
		return event{kind: arrives, who: i}
	case m.Callers[i].Late && !c.executed && !c.ended:
		return event{kind: starts, who: i}
	case c.effect || w.mayHappen(c):
		return event{finishes, i, answered}
	}
	return event{finishes, i, inDoubt}
}
