package machine

import "crypto/sha256"

// DeriveLast returns the digest that the record's last transition has, as far as the record tells, so that
// a store may leave the digest out of what it keeps. It is right only if it equals Last.Digest: after a
// takeover or a renewal, for example, the record does not hold what was digested. ok is false for kinds of
// transitions of which that is always so.
func (r *Record) DeriveLast() (digest Digest, ok bool) {
	hold := Hold{Operation: r.Last.Operation, Attempt: r.Attempt, Revision: r.Last.FromRevision}
	switch r.Last.Kind {
	case KindClaim, KindBegin:
		c := Claim{
			Operation: r.Last.Operation, Seen: r.Last.FromRevision, Lease: r.LeaseEnd.Sub(r.Claimed),
			Interruption: r.Interruption, Policy: r.Policy, Fingerprints: []Fingerprint{r.Fingerprint},
		}
		if r.Last.Kind == KindClaim {
			return beginDigest(c, r.Owner, nil), true
		}
		return beginDigest(c, r.Owner, &r.Nonce), true
	case KindComplete:
		return new(framed).hold(KindComplete, hold, r.Owner).response(r.Response).duration(r.window()).duration(r.remembered()).sum(), true
	case KindFail:
		noEffect, remember := r.State == Retryable, r.remembered()
		if !noEffect {
			remember = 0
		}
		return new(framed).hold(KindFail, hold, r.Owner).flag(noEffect).text(r.Reason).response(r.Response).duration(remember).sum(), true
	}
	return Digest{}, false
}

// DeriveDigest returns the digest that a response has if its data is plain and whole.
func (r Response) DeriveDigest() Digest { return sha256.Sum256(r.Data) }
