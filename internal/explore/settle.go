package explore

import "github.com/reprise-dev/reprise/machine"

// Resolver and operator look at a record and at the world in one moment, and send what they decide. It
// names the revision that they saw, and may arrive at any later time.

// unknown reports whether a record waits to be settled.
func (m *model) unknown(w *world, candidate uint8) bool {
	state, _ := m.record(w, int(candidate)).Judge(machine.InstantOf(instant(w.now)))
	return state == machine.Abandoned
}

// resolvable is the guard's rule: the resolver is asked only when the action can no longer be running.
func (m *model) resolvable(w *world, candidate uint8) bool {
	return int(w.now) >= tickOf(m.record(w, int(candidate)).LeaseEnd)+m.patience()
}

// patience is how many ticks after a lease's end the resolver is asked.
func (m *model) patience() int {
	if m.Hasty {
		return 0
	}
	return longest
}

// resolve asks the resolver. It knows whether there was an effect, and takes for granted that there will
// be none any more: that is what the rule is for.
func (t *turn) resolve(candidate uint8) {
	t.settleBy(candidate)
	for i := range t.Callers {
		if t.mayHappen(t.at(uint8(i))) {
			t.breaks("the resolver was asked while the action of caller %d may still take effect", i)
		}
	}
}

// operate lets the operator settle, who waits for certainty.
func (t *turn) operate(candidate uint8) {
	t.idle = true
	if _, happened := t.happened(); !happened {
		for i := range t.Callers {
			if t.mayHappen(t.at(uint8(i))) {
				return
			}
		}
	}
	t.idle = false
	t.settleBy(candidate)
}

func (t *turn) settleBy(candidate uint8) {
	o := order{what: settleNever, from: t.settles, candidate: candidate,
		revision: uint8(t.record(&t.world, int(candidate)).Revision)}
	if answer, happened := t.happened(); happened {
		o.what, o.detail = settleHappened, answer
	}
	t.settles++
	t.delay(o)
}

// happened returns the answer of the first action that took effect.
func (w *world) happened() (answer uint8, happened bool) {
	for i := range w.callers {
		if w.callers[i].effect {
			return uint8(i) + 1, true
		}
	}
	return 0, false
}
