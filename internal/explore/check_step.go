package explore

import (
	"fmt"

	"github.com/reprise-dev/reprise/machine"
)

// judgeStep says which promise one decision of the machine breaks by itself, whatever the world.
func (m *model) judgeStep(before *machine.Record, o order, now uint8, after *machine.Record, r machine.Reply) string {
	at := machine.InstantOf(instant(now))
	changed := after != before
	switch {
	case r.Outcome == machine.Invalid:
		return fmt.Sprintf("%v is invalid: %s", o, r.Reason)
	case changed && !r.Outcome.Applied() && r.Outcome != machine.ReplayedAcquire:
		return fmt.Sprintf("%v was answered %v and changed the record", o, r.Outcome)
	case changed && before != nil && before.State == machine.Completed:
		return fmt.Sprintf("%v changed a completed record", o)
	case changed && before != nil && after != nil && r.Outcome != machine.Acquired && after.Revision != before.Revision+1:
		return fmt.Sprintf("%v did not raise the revision by one", o)
	case changed && before != nil && after != nil && r.Outcome != machine.Acquired && after.Fingerprint != before.Fingerprint:
		return fmt.Sprintf("%v changed the fingerprint", o)
	}
	switch r.Outcome {
	case machine.TakenOver:
		return judgeTakeover(before, o, at)
	case machine.Acquired:
		if state, _ := before.Judge(at); state != machine.Absent {
			return fmt.Sprintf("%v made a record where one was %v", o, state)
		}
	case machine.ReplayedAcquire:
		o.attempt = uint8(after.Attempt)
		return m.judgeHolder(after, o, r.Outcome)
	case machine.CompletedNow, machine.AlreadyCompleted, machine.Failed, machine.AlreadyFailed:
		return m.judgeRecorded(before, o, after, r)
	case machine.Started, machine.Renewed, machine.AlreadyStarted, machine.AlreadyRenewed, machine.Released:
		return m.judgeHolder(before, o, r.Outcome)
	}
	return ""
}

// judgeTakeover: a takeover is a compare-and-swap on what was seen, of a key that was given up.
func judgeTakeover(before *machine.Record, o order, at machine.Instant) string {
	lapsed := at >= before.LeaseEnd
	state, _ := before.Judge(at)
	switch {
	case uint64(o.seen) != before.Revision:
		return fmt.Sprintf("%v took over revision %d", o, before.Revision)
	case state == machine.Retryable, state == machine.Claimed && lapsed:
	case state == machine.Executing && lapsed && before.Interruption == machine.Rerun:
	default:
		return fmt.Sprintf("%v took over what was %v until %v", o, state, before.LeaseEnd)
	}
	return ""
}

// judgeHolder: only the holder of the record is answered as such. Whoever was replaced or settled is not,
// and once the record was started neither is another invocation with the same owner token.
func (m *model) judgeHolder(r *machine.Record, o order, outcome machine.Outcome) string {
	v := m.invocation(o.from)
	switch {
	case r.Owner != v.Owner.Digest() || r.Attempt != uint32(o.attempt):
		return fmt.Sprintf("%v was answered %v and is not the holder", o, outcome)
	case !r.Nonce.IsZero() && r.Nonce != v.Nonce:
		return fmt.Sprintf("%v was answered %v for another invocation", o, outcome)
	}
	return ""
}

// judgeRecorded: what is confirmed as recorded is what the record says.
func (m *model) judgeRecorded(before *machine.Record, o order, after *machine.Record, r machine.Reply) string {
	if broken := m.judgeHolder(before, o, r.Outcome); broken != "" {
		return broken
	}
	switch c := m.command(o).(type) {
	case machine.Complete:
		if after.State != machine.Completed || after.Response.Digest != c.Response.Digest ||
			after.WindowEnd.Sub(after.Finished) != c.Window {
			return fmt.Sprintf("%v was answered %v and the record says something else", o, r.Outcome)
		}
	case machine.Fail:
		if after.State == machine.Retryable != c.NoEffect {
			return fmt.Sprintf("%v was answered %v and the record is %v", o, r.Outcome, after.State)
		}
	}
	return ""
}
