package flow

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Begin returns the first thing to do.
func (f *Flow) Begin(now time.Duration) Directive { return f.acquire(now, 0, 0) }

// acquire sends a new claim.
func (f *Flow) acquire(now time.Duration, candidate int, seen uint64) Directive {
	f.phase, f.candidate, f.seen = claiming, candidate, seen
	f.sentAt, f.until = now, now+f.config.Patience
	return f.send(Acquire)
}

// Woken reports that the wait for another's answer is over. The only way on is to claim again.
func (f *Flow) Woken(now time.Duration) Directive { return f.acquire(now, 0, 0) }

// Deserted reports that nobody waits for another's answer any more.
func (f *Flow) Deserted() Directive { return f.end(InProgress) }

// Leave reports that the caller gave up before the action began.
func (f *Flow) Leave() Directive {
	if f.phase != claiming {
		return Directive{Verb: Stop}
	}
	return f.giveUp(Left)
}

func (f *Flow) acquireReplied(now time.Duration, r machine.Reply) Directive {
	switch r.Outcome {
	case machine.Acquired, machine.TakenOver, machine.ReplayedAcquire:
		return f.acquired(now, r)
	case machine.Takeable:
		if f.takeovers++; f.takeovers > maxTakeovers {
			return f.end(InProgress)
		}
		return f.acquire(now, f.candidate, r.Revision)
	case machine.Barred:
		return f.nextCandidate(now)
	case machine.Replay:
		return f.end(Replayed)
	case machine.Gone:
		return f.end(Gone)
	case machine.FingerprintMismatch:
		return f.end(Mismatch)
	case machine.ReplayIncompatible:
		return f.end(Incompatible)
	case machine.RecoveryRequired:
		return f.recoveryRequired(r)
	case machine.InProgress:
		if left := f.config.Wait - now; left > 0 {
			return Directive{Verb: Wait, For: min(left, r.LeaseEnd.Sub(r.At)), Candidate: f.candidate, Revision: r.Revision}
		}
		return f.end(InProgress)
	case machine.OwnerConflict, machine.ArgumentConflict:
		return f.end(Conflict)
	}
	return f.end(Invalid)
}

// nextCandidate goes on to the scope of the next version of the secret. The one before holds no
// record, and this invocation cannot make one in it any more: doubts about it are settled. After the last,
// another invocation is needed, prepared with what the store knows now.
func (f *Flow) nextCandidate(now time.Duration) Directive {
	if f.candidate+1 < f.config.Candidates {
		f.doubt = false
		return f.acquire(now, f.candidate+1, 0)
	}
	return f.end(Outdated)
}

// recoveryRequired is an unknown outcome, unless what was interrupted is this invocation itself: its
// claim arrived, its reply did not, and its lease ran out. Nothing ran, and that is worth saying.
func (f *Flow) recoveryRequired(r machine.Reply) Directive {
	if f.doubt && r.Yours {
		f.attempt, f.revision = r.Attempt, r.Revision
		return f.clean(Withdraw, Unavailable)
	}
	return f.end(Unknown)
}

// acquired runs the action if enough of the lease is left.
func (f *Flow) acquired(now time.Duration, r machine.Reply) Directive {
	f.held, f.doubt, f.started = true, false, r.State == machine.Executing
	f.attempt, f.revision = r.Attempt, r.Revision
	f.leased(r)
	if now+f.config.Margin >= f.heldUntil {
		return f.giveUp(Unavailable)
	}
	f.phase = acting
	return Directive{Verb: Run, For: max(0, f.renewAt-now), Candidate: f.candidate, Attempt: f.attempt}
}

// leased notes the lease that a reply tells, counted from before its command was sent: a reply that comes
// late is not trusted. Where an earlier command was the one that took or renewed it, of this invocation or
// of another that shares the claim, less is left than a whole lease.
func (f *Flow) leased(r machine.Reply) {
	f.heldUntil = max(f.heldUntil, f.sentAt+min(f.config.Lease, r.LeaseEnd.Sub(r.At)))
	f.renewAt = f.heldUntil - f.config.Lease*2/3
}

func (f *Flow) acquireFailed(now time.Duration, failure Failure) Directive {
	if failure == MaybeApplied {
		f.doubt = true
	}
	switch {
	case failure == Unreadable:
		return f.end(Corrupt)
	case failure == DataLost:
		return f.giveUp(Lost)
	case f.doubt && now < f.until:
		f.sentAt = now
		return f.repeat(Acquire)
	}
	return f.giveUp(Unavailable)
}

// giveUp answers without having run the action. What was acquired, or may have been, is taken back.
func (f *Flow) giveUp(v Verdict) Directive {
	switch {
	case f.held && f.started:
		return f.clean(Withdraw, v)
	case f.held:
		return f.clean(Release, v)
	case f.doubt:
		return f.clean(Inspect, v)
	}
	return f.end(v)
}

func (f *Flow) clean(c Command, v Verdict) Directive {
	f.phase, f.command = cleaning, c
	return f.tell(v, f.send(c))
}

func (f *Flow) cleanReplied(r machine.Reply) Directive {
	switch {
	case f.command == Inspect && r.Outcome == machine.Found:
		return f.foundAfterDoubt(r.Record)
	case r.Outcome == machine.Stale && r.Yours:
		f.revision = r.Revision
		return f.send(f.command)
	}
	f.phase = over
	return Directive{Verb: Stop}
}

// foundAfterDoubt takes back what the doubtful acquisition did, if the record is its doing.
func (f *Flow) foundAfterDoubt(r *machine.Record) Directive {
	f.attempt, f.revision = r.Attempt, r.Revision
	switch {
	case r.State == machine.Executing && r.Nonce == f.config.Nonce:
		f.command = Withdraw
	case r.State == machine.Claimed && f.config.Late:
		f.command = Release // refused if it is another owner's
	default:
		f.phase = over
		return Directive{Verb: Stop}
	}
	return f.send(f.command)
}
