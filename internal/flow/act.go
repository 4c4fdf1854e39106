package flow

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Beat is called while the action runs, after the time that the last directive named. It answers with
// Send (a renewal, to be given up after For; report with BeatReplied or BeatFailed), Idle, or Cancel. Nothing else may be in
// flight for this flow meanwhile.
func (f *Flow) Beat(now time.Duration) Directive {
	switch {
	case f.phase != acting || f.lost:
		return Directive{Verb: Stop}
	case now >= f.heldUntil:
		f.lost = true
		return Directive{Verb: Cancel}
	case now < f.renewAt:
		return Directive{Verb: Idle, For: min(f.renewAt, f.heldUntil) - now}
	}
	f.sentAt = now
	d := f.send(Renew)
	d.For = f.heldUntil - now
	return d
}

// BeatReplied reports the reply to a renewal.
func (f *Flow) BeatReplied(now time.Duration, r machine.Reply) Directive {
	switch {
	case r.Outcome == machine.Renewed || r.Outcome == machine.AlreadyRenewed:
		f.revision = r.Revision
		f.leased(r)
	case r.Outcome == machine.Stale && r.Yours:
		// An earlier renewal arrived after all, or another invocation that shares the claim renewed it.
		f.revision, f.renewAt = r.Revision, now
	default:
		f.lost = true
		return Directive{Verb: Cancel}
	}
	return Directive{Verb: Idle, For: max(0, min(f.renewAt, f.heldUntil)-now)}
}

// BeatFailed reports that a renewal got no reply, whatever that means. It is repeated until the lease is
// over.
func (f *Flow) BeatFailed(now time.Duration, _ Failure) Directive {
	f.renewAt = now + f.config.Lease/20
	return Directive{Verb: Idle, For: max(0, min(f.renewAt, f.heldUntil)-now)}
}

// StartLate is called by an action that comes to the part which cannot be undone.
func (f *Flow) StartLate(now time.Duration) Directive {
	if f.phase != acting || f.started || f.lost {
		return Directive{Verb: Stop}
	}
	f.phase, f.sentAt, f.until = starting, now, now+f.config.Patience
	return f.send(Start)
}

// startReplied answers a late start with Run when the action may go on, and otherwise with Cancel.
func (f *Flow) startReplied(now time.Duration, r machine.Reply) Directive {
	switch {
	case r.Outcome == machine.Started || r.Outcome == machine.AlreadyStarted:
		f.started, f.revision = true, r.Revision
		f.leased(r)
		if f.result != 0 {
			return f.record(now)
		}
		f.phase = acting
		if now+f.config.Margin >= f.heldUntil {
			return Directive{Verb: Cancel}
		}
		return Directive{Verb: Run, For: max(0, f.renewAt-now)}
	case r.Outcome == machine.Stale && r.Yours:
		f.revision, f.sentAt = r.Revision, now
		return f.send(Start)
	}
	if f.result != 0 {
		return f.ask(now)
	}
	f.phase, f.lost = acting, true
	return Directive{Verb: Cancel}
}

func (f *Flow) startFailed(now time.Duration) Directive {
	if f.result != 0 {
		return f.recordFailed(now)
	}
	if now < f.until {
		f.sentAt = now
		return f.repeat(Start)
	}
	f.phase = acting
	return Directive{Verb: Cancel}
}

// Finished reports what came of the action.
func (f *Flow) Finished(now time.Duration, result Result) Directive {
	if f.phase != acting {
		return Directive{Verb: Stop}
	}
	f.result, f.until = result, now+f.config.Patience
	if result == Answered && !f.started {
		f.phase, f.sentAt = starting, now
		return f.send(Start)
	}
	return f.record(now)
}

func (f *Flow) record(now time.Duration) Directive {
	f.phase, f.until = recording, now+f.config.Patience
	switch {
	case f.result == Answered:
		f.command = Complete
	case f.started:
		f.command = Fail
	default:
		f.command = Release // nothing that cannot be undone was begun
	}
	return f.send(f.command)
}

func (f *Flow) recordReplied(now time.Duration, r machine.Reply) Directive {
	switch {
	case r.Outcome == machine.CompletedNow || r.Outcome == machine.AlreadyCompleted,
		r.Outcome == machine.Failed || r.Outcome == machine.AlreadyFailed,
		r.Outcome == machine.Released || r.Outcome == machine.AlreadyReleased:
		return f.end(Recorded)
	case r.Outcome == machine.Stale && r.Yours:
		// Only this invocation can have moved it: a renewal whose reply was lost.
		f.revision = r.Revision
		return f.send(f.command)
	case r.Outcome == machine.WrongState && r.Yours && f.command == Release:
		// A late start arrived after all, but the action was told that it did not.
		f.command = Withdraw
		return f.send(f.command)
	}
	return f.ask(now)
}

// recordFailed goes on for ever; the caller is told when patience ends. Once the record is executing, under
// quarantine, nobody else runs the action, so its answer can be given. Under rerun somebody may, and also
// where the start of the record is not confirmed: then there may be another answer.
func (f *Flow) recordFailed(now time.Duration) Directive {
	d := f.repeat(f.command)
	if f.phase == starting {
		d = f.repeat(Start)
	}
	switch {
	case now < f.until:
		return d
	case f.result == Answered && (f.config.Rerun || !f.started):
		return f.tell(Unknown, d)
	}
	return f.tell(Unconfirmed, d)
}

// ask finds out whose answer the caller gets, now that this invocation was refused as the owner: it
// never hands out its own.
func (f *Flow) ask(now time.Duration) Directive {
	if f.answered {
		return f.end(Unknown)
	}
	f.phase, f.until = asking, now+f.config.Patience
	return f.send(Ask)
}

func (f *Flow) askReplied(r machine.Reply) Directive {
	if r.Outcome == machine.Replay {
		return f.end(Replayed)
	}
	return f.end(Unknown)
}
