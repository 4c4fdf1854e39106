package explore

import (
	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// judgeExecution judges that an action comes to its part which cannot be undone, before it does.
//
// At most one invocation holds a key at a time, as far as their flows can tell. Under quarantine no other
// action has taken effect or still can; under rerun its lease has run out, or it ended.
func (t *turn) judgeExecution(i uint8) {
	for j := range uint8(len(t.Callers)) {
		other := t.at(j)
		if j == i || !other.executed {
			continue
		}
		if other.stage == acting && !other.ended && t.now < other.held {
			t.breaks("caller %d runs its action while caller %d takes the key for held", i, j)
		}
		if !t.Rerun && (other.effect || t.mayHappen(other)) {
			t.breaks("caller %d runs its action after that of caller %d, which had an effect or can still have one", i, j)
		}
	}
}

// judgeHeld: what a flow takes for its lease is never more than the record says.
func (t *turn) judgeHeld(i uint8, f *flow.Flow) {
	r := t.record(&t.world, f.Candidate())
	switch {
	case r == nil || r.Owner != t.invocation(i).Owner.Digest() || r.State != machine.Claimed && r.State != machine.Executing:
		if !t.shared { // the owner may have given up what it shares
			t.breaks("caller %d takes the key for held until tick %d, and holds nothing", i, t.at(i).held)
		}
	case int(t.at(i).held) > tickOf(r.LeaseEnd):
		t.breaks("caller %d takes the key for held until tick %d, and its lease ends at tick %d", i, t.at(i).held, tickOf(r.LeaseEnd))
	}
}

// judgeEffect judges that an action takes effect, before it does.
func (t *turn) judgeEffect(i uint8) {
	for j := range t.callers {
		if t.callers[j].effect && !t.Rerun {
			t.breaks("a second effect: of caller %d after caller %d", i, j)
		}
	}
}

// judgeChange judges a change of a record in its world.
func (t *turn) judgeChange(o order, after *machine.Record) {
	switch {
	case after == nil || after.State == machine.Retryable:
		t.judgeRetryable(o)
		if o.what == settleNever {
			t.world.answer, t.denied = 0, true
		}
	case after.State == machine.Completed:
		answer := answerIn(after.Response)
		t.judgeAnswer(answer)
		// A late caller may answer without having come to the part which cannot be undone.
		if !t.Rerun && !t.callers[answer-1].effect && !t.Callers[answer-1].Late {
			t.breaks("%v records an answer without an effect", o)
		}
	}
}

// judgeRetryable: a key becomes free only when nothing happened, and nothing can any more. Under rerun
// that is said of the attempt alone.
func (t *turn) judgeRetryable(o order) {
	for j := range t.callers {
		c := &t.callers[j]
		if t.Rerun && o.what != settleNever && j != int(o.from) {
			continue
		}
		if c.effect {
			t.breaks("%v frees the key after the effect of caller %d", o, j)
		}
		if t.mayHappen(c) {
			t.breaks("%v frees the key while the action of caller %d may still take effect", o, j)
		}
	}
}

// judgeAnswer: whoever was given an answer of the record, or will be, is given the same.
func (t *turn) judgeAnswer(answer uint8) {
	if t.answer != 0 && t.answer != answer {
		t.breaks("answer %d after answer %d was given", answer, t.answer)
	}
	for c := range t.candidates() {
		if r := t.record(&t.world, c); r != nil && r.State == machine.Completed && answerIn(r.Response) != answer {
			t.breaks("answer %d is not the recorded one, %d", answer, answerIn(r.Response))
		}
	}
}

// told judges what a caller is told.
func (t *turn) told(i uint8, v flow.Verdict, reply machine.Reply) {
	c := t.at(i)
	t.verdicts[v]++
	if c.verdict != flow.Undecided {
		t.breaks("caller %d is told verdict %d after %d", i, v, c.verdict)
	}
	c.verdict = v
	switch v {
	case flow.Recorded:
		t.toldRecorded(i)
	case flow.Unconfirmed:
		t.toldUnconfirmed(i)
	case flow.Replayed:
		answer := answerIn(reply.Response)
		if t.Callers[answer-1].Other != t.Callers[i].Other {
			t.breaks("caller %d is given the answer to another request", i)
		}
		t.give(answer)
	case flow.Unknown:
	case flow.Conflict, flow.Invalid, flow.Incompatible:
		t.breaks("caller %d is told verdict %d, for which there is no ground", i, v)
	default:
		if c.acted {
			t.breaks("caller %d is told verdict %d, which says that its action did not run", i, v)
		}
	}
}

// toldRecorded: the record says what the caller is told.
func (t *turn) toldRecorded(i uint8) {
	c := t.at(i)
	if !c.acted {
		t.breaks("caller %d is told that its action is recorded, and it never ran", i)
	}
	if c.result != flow.Answered {
		return
	}
	f := t.flowOf(i)
	r := t.record(&t.world, f.Candidate())
	if r == nil || r.State != machine.Completed || answerIn(r.Response) != i+1 {
		t.breaks("caller %d is told that its answer is recorded, and it is not", i)
	}
	t.give(i + 1)
}

// toldUnconfirmed: an answer that is not recorded is handed out only where there will be no other. It may be
// followed by another in one case: it came without an effect, and somebody settled that nothing happened.
func (t *turn) toldUnconfirmed(i uint8) {
	c := t.at(i)
	switch {
	case c.result != flow.Answered || t.denied && !c.effect:
	case t.Rerun:
		t.breaks("caller %d hands out an answer of its own that is not recorded, while others may run", i)
	default:
		t.give(i + 1)
	}
}

// give hands out an answer.
func (t *turn) give(answer uint8) {
	t.judgeAnswer(answer)
	t.world.answer = answer
}
