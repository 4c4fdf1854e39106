package machine

// advance stamps a changed record: one revision more, and what changed it.
func advance(next *Record, kind Kind, operation ID, from uint64, digest Digest) {
	next.Revision = from + 1
	next.Last = Transition{Kind: kind, Operation: operation, FromRevision: from, Digest: digest}
}

// isRetry reports whether a command is the record's last transition, sent again.
func isRetry(r *Record, kind Kind, operation ID, from uint64) bool {
	return r.Last.Kind == kind && r.Last.Operation == operation && r.Last.FromRevision == from
}

// again answers a repeated command: as the first time, or as a conflict when it is a retry of the
// last transition with other arguments.
func again(outcome Outcome, r *Record, kind Kind, operation ID, from uint64, digest Digest, at Instant) Reply {
	if isRetry(r, kind, operation, from) && r.Last.Digest != digest {
		outcome = ArgumentConflict
	}
	return granted(outcome, r, at)
}

// check judges what every command of an owner must pass, in this order: the record exists, the
// command speaks for its tenure, it is no retry, it knows the record's revision. A reply with done
// set is the answer; otherwise the caller judges the source state.
func check(record *Record, kind Kind, h Hold, owner, digest Digest, already Outcome, at Instant) (reply Reply, done bool) {
	if record == nil || record.forgotten(at) {
		return Reply{Outcome: NotFound, At: at}, true
	}
	if !holds(record, h, owner) {
		return answer(NotOwner, record, at), true
	}
	if isRetry(record, kind, h.Operation, h.Revision) {
		return again(already, record, kind, h.Operation, h.Revision, digest, at), true
	}
	if record.Revision != h.Revision {
		return granted(Stale, record, at), true
	}
	return Reply{}, false
}

// holds reports whether a command speaks for the tenure that has the record. Once started, that
// includes the invocation.
func holds(record *Record, h Hold, owner Digest) bool {
	return sameOwner(owner, record.Owner) && record.Attempt == h.Attempt &&
		(record.Nonce.IsZero() || record.Nonce == h.Nonce)
}

func start(record *Record, c Start, at Instant) (*Record, Reply) {
	owner := c.Owner.Digest()
	digest := new(framed).hold(KindStart, c.Hold, owner).nonce(c.Nonce).duration(c.Lease).sum()
	if record != nil && record.State == Executing && sameOwner(owner, record.Owner) && record.Attempt == c.Attempt {
		return record, startedBefore(record, c, digest, at)
	}
	if reply, done := check(record, KindStart, c.Hold, owner, digest, AlreadyStarted, at); done {
		return record, reply
	}
	if record.State != Claimed {
		return record, granted(WrongState, record, at)
	}
	if !record.leaseLive(at) {
		return record, granted(LeaseEnded, record, at)
	}
	next := *record
	begin(&next, c.Nonce, at)
	next.LeaseEnd = at.Add(c.Lease)
	advance(&next, KindStart, c.Operation, record.Revision, digest)
	return &next, granted(Started, &next, at)
}

// startedBefore answers a start of a tenure that was started: by this invocation, whose first reply
// was lost, or by another one.
func startedBefore(record *Record, c Start, digest Digest, at Instant) Reply {
	switch {
	case record.Nonce != c.Nonce:
		return granted(InProgress, record, at)
	case !record.leaseLive(at):
		return granted(LeaseEnded, record, at)
	}
	return again(AlreadyStarted, record, KindStart, c.Operation, c.Revision, digest, at)
}

func renew(record *Record, c Renew, at Instant) (*Record, Reply) {
	owner := c.Owner.Digest()
	digest := new(framed).hold(KindRenew, c.Hold, owner).duration(c.Lease).sum()
	if reply, done := check(record, KindRenew, c.Hold, owner, digest, AlreadyRenewed, at); done {
		return record, reply
	}
	if record.State != Claimed && record.State != Executing {
		return record, granted(WrongState, record, at)
	}
	next := *record
	next.LeaseEnd = at.Add(c.Lease)
	advance(&next, KindRenew, c.Operation, record.Revision, digest)
	return &next, granted(Renewed, &next, at)
}

func complete(record *Record, c Complete, at Instant) (*Record, Reply) {
	owner := c.Owner.Digest()
	digest := new(framed).hold(KindComplete, c.Hold, owner).response(c.Response).duration(c.Window).duration(c.Remember).sum()
	if reply, done := check(record, KindComplete, c.Hold, owner, digest, AlreadyCompleted, at); done {
		if reply.Outcome == ArgumentConflict {
			reply.Outcome = completionConflict(record, c)
		}
		return record, reply
	}
	if record.State != Executing {
		return record, granted(WrongState, record, at)
	}
	next := *record
	next.State, next.Finished, next.Response, next.Reason = Completed, at, c.Response, ""
	next.WindowEnd, next.RememberUntil = at.Add(c.Window), at.Add(c.Remember)
	advance(&next, KindComplete, c.Operation, record.Revision, digest)
	return &next, granted(CompletedNow, &next, at)
}

// completionConflict names what a second completion would have changed.
func completionConflict(record *Record, c Complete) Outcome {
	switch {
	case !sameResponse(record.Response, c.Response):
		return ResponseConflict
	case record.window() != stored(c.Window) || record.remembered() != stored(c.Remember):
		return WindowConflict
	}
	return ArgumentConflict
}

func fail(record *Record, c Fail, at Instant) (*Record, Reply) {
	remember := c.Remember
	if !c.NoEffect {
		remember = 0 // unused; two retries that differ only here are the same
	}
	owner := c.Owner.Digest()
	digest := new(framed).hold(KindFail, c.Hold, owner).flag(c.NoEffect).text(c.Reason).response(c.Evidence).duration(remember).sum()
	if reply, done := check(record, KindFail, c.Hold, owner, digest, AlreadyFailed, at); done {
		if reply.Outcome == ArgumentConflict {
			reply.Outcome = failureConflict(record, c)
		}
		return record, reply
	}
	if record.State != Executing {
		return record, granted(WrongState, record, at)
	}
	next := *record
	next.State, next.Finished, next.Reason, next.Response = Abandoned, at, c.Reason, c.Evidence
	if c.NoEffect {
		next.State, next.RememberUntil = Retryable, at.Add(c.Remember)
	}
	advance(&next, KindFail, c.Operation, record.Revision, digest)
	return &next, granted(Failed, &next, at)
}

// failureConflict names what a second failure would have changed.
func failureConflict(record *Record, c Fail) Outcome {
	switch {
	case !sameResponse(record.Response, c.Evidence):
		return ResponseConflict
	case c.NoEffect && record.State == Retryable && record.remembered() != stored(c.Remember):
		return WindowConflict
	}
	return ArgumentConflict
}

func release(record *Record, c Release, at Instant) (*Record, Reply) {
	if record == nil || record.forgotten(at) {
		return record, Reply{Outcome: AlreadyReleased, At: at}
	}
	if reply, done := check(record, KindRelease, c.Hold, c.Owner.Digest(), Digest{}, AlreadyReleased, at); done {
		return record, reply
	}
	if record.State != Claimed {
		return record, granted(WrongState, record, at)
	}
	return nil, Reply{Outcome: Released, At: at}
}

func settle(record *Record, c Settle, at Instant) (*Record, Reply) {
	state, _ := record.Judge(at)
	if state == Absent {
		return record, Reply{Outcome: NotFound, At: at}
	}
	digest := settleDigest(c)
	if isRetry(record, KindSettle, c.Operation, c.Revision) {
		return record, settledBefore(record, c, digest, at)
	}
	if record.Revision != c.Revision {
		return record, answer(Stale, record, at)
	}
	if state != Abandoned {
		return record, answer(WrongState, record, at)
	}
	next := *record
	next.Owner, next.Nonce, next.Finished, next.RememberUntil = Digest{}, Nonce{}, at, at.Add(c.Remember)
	next.Settlement = Settlement{Who: c.Who, Why: c.Why, Evidence: c.Evidence, At: at}
	if c.Completed {
		next.State, next.Response, next.Reason, next.WindowEnd = Completed, c.Response, "", at.Add(c.Window)
	} else {
		next.State, next.Reason = Retryable, ReasonSettled
	}
	advance(&next, KindSettle, c.Operation, record.Revision, digest)
	return &next, answer(SettledNow, &next, at)
}

// settledBefore answers a settlement that was sent again.
func settledBefore(record *Record, c Settle, digest Digest, at Instant) Reply {
	outcome := AlreadySettled
	if record.Last.Digest != digest {
		switch outcome = ArgumentConflict; {
		case c.Completed && record.State == Completed && !sameResponse(record.Response, c.Response):
			outcome = ResponseConflict
		case record.remembered() != stored(c.Remember) || c.Completed && record.State == Completed && record.window() != stored(c.Window):
			outcome = WindowConflict
		}
	}
	return answer(outcome, record, at)
}
