package explore

import (
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const codec = "answer"

// invocation is what the guard prepares for a caller.
func (m *model) invocation(i uint8) *store.Invocation {
	v := &store.Invocation{
		Fingerprints: []machine.Fingerprint{{Version: 2, Sum: machine.Digest{1}}},
		Codecs:       []string{codec}, Lease: lease, Nonce: machine.Nonce{i + 1},
		Window: ticks(m.Window, forever), Remember: forever, Retryable: ticks(m.Retryable, forever),
	}
	who := i + 1
	if int(i) < len(m.Callers) {
		if m.Callers[i].Resumes {
			who = 1
		}
		if m.Callers[i].Other {
			v.Fingerprints[0].Sum = machine.Digest{2}
		}
	}
	v.Owner, v.Operation = machine.Token{who}, machine.ID{who}
	if m.Rerun {
		v.Interruption = machine.Rerun
	}
	for c := range m.candidates() {
		v.Candidates = append(v.Candidates, store.Candidate{Scope: machine.Scope{
			Operation: "pay", SecretVersion: uint32(c + 1), Digest: machine.Digest{byte(c + 1)}}})
	}
	if m.Rotate > 0 {
		at := machine.InstantOf(instant(uint8(m.Rotate)))
		v.Candidates[0].CreateBefore, v.Candidates[1].CreateFrom = at, at
	}
	return v
}

// config is what the guard tells a caller's flow.
func (m *model) config(i int) flow.Config {
	return flow.Config{
		Nonce: machine.Nonce{byte(i + 1)}, Candidates: m.candidates(), Lease: lease,
		Margin: lease / 5, Patience: lease / 2, Wait: time.Duration(m.Wait) * tick,
		Rerun: m.Rerun, Late: m.Callers[i].Late,
	}
}

// orderOf is what a directive wants sent.
func orderOf(i int, c *caller, d flow.Directive) order {
	o := order{what: what(d.Command), from: uint8(i), candidate: uint8(d.Candidate)}
	switch d.Command {
	case flow.Acquire:
		o.seen = uint8(d.Seen)
	case flow.Ask, flow.Inspect:
	default:
		o.attempt, o.revision = uint8(d.Attempt), uint8(d.Revision)
	}
	if d.Command == flow.Fail {
		o.detail = uint8(c.result)
	}
	return o
}

// command builds what the guard would send.
func (m *model) command(o order) machine.Command {
	v := m.invocation(o.from)
	candidate := int(o.candidate)
	hold := v.Hold(candidate, uint32(o.attempt), uint64(o.revision))
	switch o.what {
	case what(flow.Acquire):
		if m.Callers[o.from].Late {
			return v.Claim(candidate, uint64(o.seen))
		}
		return v.Begin(candidate, uint64(o.seen))
	case what(flow.Start):
		return machine.Start{Hold: hold, Lease: lease}
	case what(flow.Renew):
		return machine.Renew{Hold: hold, Lease: lease}
	case what(flow.Complete):
		return v.Complete(hold, answerOf(o.from+1))
	case completeOther:
		v.Window /= 2
		return v.Complete(hold, answerOf(o.from+1))
	case what(flow.Fail):
		noEffect := flow.Result(o.detail) == flow.NoEffect
		return v.Fail(hold, noEffect, reasonOf(flow.Result(o.detail)), machine.Response{})
	case what(flow.Withdraw):
		return v.Fail(hold, true, "not run", machine.Response{})
	case what(flow.Release):
		return machine.Release{Hold: hold}
	case what(flow.Ask):
		return v.Ask(candidate)
	case settleHappened, settleNever:
		return m.settlement(o, v)
	case forget:
		return machine.Forget{Scope: hold.Scope}
	}
	return machine.Inspect{Scope: hold.Scope}
}

func (m *model) settlement(o order, v *store.Invocation) machine.Settle {
	s := machine.Settle{
		Scope: v.Candidates[o.candidate].Scope, Operation: machine.ID{0xff, o.from}, Revision: uint64(o.revision),
		Remember: v.Retryable, Who: "operator", Why: "looked",
	}
	if o.what == settleHappened {
		s.Completed, s.Response, s.Window, s.Remember = true, answerOf(o.detail), v.Window, v.Remember
	}
	return s
}

// answerOf is the answer of a caller's action: each has its own.
func answerOf(n uint8) machine.Response { return machine.NewResponse(codec, []byte{n}) }

// answerIn reads it back.
func answerIn(r machine.Response) uint8 {
	if len(r.Data) != 1 {
		return 0
	}
	return r.Data[0]
}

func reasonOf(r flow.Result) string {
	if r == flow.NoEffect {
		return "no effect"
	}
	return "error"
}
