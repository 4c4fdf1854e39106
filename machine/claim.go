package machine

import "slices"

// claim decides Claim (nonce is nil) and Begin. The cases stand in the order in which they are
// judged; the first that fits is the answer. Only the three that grant the key change anything.
func claim(record *Record, c Claim, nonce *Nonce, at Instant) (*Record, Reply) {
	state, _ := record.Judge(at)
	if state == Absent {
		if (c.CreateBefore != 0 && at >= c.CreateBefore) || at < c.CreateFrom {
			return record, Reply{Outcome: Barred, At: at}
		}
		next := grant(nil, c, nonce, at)
		return next, granted(Acquired, next, at)
	}
	if refusal, ok := compareFingerprint(record, c, at); !ok {
		return record, refusal
	}
	switch state {
	case Expired:
		return record, answer(Gone, record, at)
	case Completed:
		return record, replay(record, c, at)
	case Abandoned:
		return record, owned(RecoveryRequired, record, c, at)
	case Retryable:
		return takeover(record, c, nonce, at)
	}
	return contend(record, c, nonce, at)
}

// compareFingerprint refuses a request that is not the one which the record was made for.
func compareFingerprint(record *Record, c Claim, at Instant) (Reply, bool) {
	for _, f := range c.Fingerprints {
		if f.Version == record.Fingerprint.Version {
			return Reply{Outcome: FingerprintMismatch, At: at}, f.Sum == record.Fingerprint.Sum
		}
	}
	// Equal or not, this caller cannot tell: that is no proof of another request.
	return Reply{Outcome: ReplayIncompatible, At: at, Reason: "fingerprint version"}, false
}

func replay(record *Record, c Claim, at Instant) Reply {
	reply := answer(Replay, record, at)
	switch {
	case record.Policy > c.Policy:
		reply.Outcome, reply.Reason = ReplayIncompatible, "policy revision"
	case !slices.Contains(c.Codecs, record.Response.Codec):
		reply.Outcome, reply.Reason = ReplayIncompatible, "codec "+record.Response.Codec
	default:
		reply.Response = record.Response
	}
	return reply
}

// contend decides a claim on a record that is claimed or executing and not interrupted.
func contend(record *Record, c Claim, nonce *Nonce, at Instant) (*Record, Reply) {
	live := record.leaseLive(at)
	if owner := c.Owner.Digest(); sameOwner(owner, record.Owner) {
		if c.Operation != record.Operation {
			return record, owned(OwnerConflict, record, c, at)
		}
		if live && record.State == Claimed {
			return resume(record, c, owner, nonce, at)
		}
		if live && nonce != nil && *nonce == record.Nonce {
			return record, again(ReplayedAcquire, record, KindBegin, c.Operation, c.Seen, beginDigest(c, owner, nonce), at)
		}
		// Holding the token of an executing record is no right to run: it does not say whether the
		// first try is running, has run, or never began.
	}
	if !live {
		return takeover(record, c, nonce, at)
	}
	return record, owned(InProgress, record, c, at)
}

// resume answers the owner of a claim that was not started. A Begin goes on to start it.
func resume(record *Record, c Claim, owner Digest, nonce *Nonce, at Instant) (*Record, Reply) {
	if nonce == nil {
		return record, again(ReplayedAcquire, record, KindClaim, c.Operation, c.Seen, beginDigest(c, owner, nil), at)
	}
	next := *record
	begin(&next, *nonce, at)
	next.LeaseEnd = at.Add(c.Lease)
	advance(&next, KindBegin, c.Operation, record.Revision, beginDigest(c, owner, nonce))
	return &next, granted(ReplayedAcquire, &next, at)
}

// takeover grants a record that can be had to a caller that has seen it as it is now.
func takeover(record *Record, c Claim, nonce *Nonce, at Instant) (*Record, Reply) {
	if c.Seen != record.Revision {
		return record, owned(Takeable, record, c, at)
	}
	next := grant(record, c, nonce, at)
	reply := granted(TakenOver, next, at)
	reply.From = record.State
	return next, reply
}

// grant makes the record of a new tenure, after previous or from nothing.
func grant(previous *Record, c Claim, nonce *Nonce, at Instant) *Record {
	owner := c.Owner.Digest()
	next := &Record{
		Scope: c.Scope, Generation: c.Generation, State: Claimed,
		Owner: owner, Attempt: 1, Operation: c.Operation, Fingerprint: c.Fingerprints[0],
		Policy: c.Policy, Interruption: c.Interruption, LeaseEnd: at.Add(c.Lease), Claimed: at,
	}
	from := uint64(0)
	if previous != nil {
		// The request is the one of the first claim, by the rules of that time: they were compared.
		next.Scope, next.Fingerprint = previous.Scope, previous.Fingerprint
		next.Attempt, next.Extensions = previous.Attempt+1, previous.Extensions
		next.Settlement = previous.Settlement
		from = previous.Revision
	}
	kind := KindClaim
	if nonce != nil {
		kind = KindBegin
		begin(next, *nonce, at)
	}
	// What was seen decides nothing where there is no record. A retry names the revision that was changed.
	c.Seen = from
	advance(next, kind, c.Operation, from, beginDigest(c, owner, nonce))
	return next
}

func begin(next *Record, nonce Nonce, at Instant) {
	next.State, next.Nonce, next.Started = Executing, nonce, at
}

func granted(outcome Outcome, record *Record, at Instant) Reply {
	reply := answer(outcome, record, at)
	reply.Yours = true
	return reply
}

func owned(outcome Outcome, record *Record, c Claim, at Instant) Reply {
	reply := answer(outcome, record, at)
	reply.Yours = sameOwner(c.Owner.Digest(), record.Owner)
	return reply
}
