package machine

import (
	"crypto/sha256"
	"time"
)

// State is where a record stands.
type State uint8

// The states. Expired and Absent are only ever judged, never stored.
const (
	Absent State = iota
	Claimed
	Executing
	Completed
	Retryable
	Abandoned
	Expired
)

var stateNames = [...]string{"absent", "claimed", "executing", "completed", "retryable", "abandoned", "expired"}

// String returns the state's name in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "invalid"
}

// ParseState reads what [State.String] wrote.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return Absent, false
}

// Interruption says what a lease that ran out during execution means.
type Interruption uint8

const (
	// Quarantine keeps the key until somebody knows what happened. The default.
	Quarantine Interruption = iota
	// Rerun lets the next claim take the key over: for actions that are safe to run twice.
	Rerun
)

// String returns "quarantine" or "rerun".
func (i Interruption) String() string {
	if i == Rerun {
		return "rerun"
	}
	return "quarantine"
}

// Reasons that the machine itself gives.
const (
	// ReasonInterrupted is that of an executing record whose lease ran out under [Quarantine].
	ReasonInterrupted = "interrupted"
	// ReasonSettled is that of a record which was settled as not having happened.
	ReasonSettled = "settled"
)

// Response is an answer as it is kept.
type Response struct {
	// Codec names how Data is to be read, for example "http/1".
	Codec string
	// Data is the answer. A response that is not kept may still say something short about itself
	// here, such as its status. Empty is a value. Whoever holds a Response must not change Data.
	Data []byte
	// Digest is SHA-256 over the plain data, whatever is done to Data before it is stored.
	Digest Digest
	// NotKept marks an answer that was given once and was too large to keep.
	NotKept bool
	// Sealed names the key under which Data is encrypted; empty means it is plain.
	Sealed string
}

// NewResponse returns a kept response with its digest. It keeps data, which must not be changed.
func NewResponse(codec string, data []byte) Response {
	return Response{Codec: codec, Data: data, Digest: sha256.Sum256(data)}
}

// IsZero reports whether there is no response, which is something else than an empty one.
func (r Response) IsZero() bool { return r.Codec == "" }

// Transition describes the last change of a record, so that a retry of it can be told from news.
type Transition struct {
	Kind         Kind
	Operation    ID
	FromRevision uint64
	Digest       Digest
}

// Settlement says who decided an unknown outcome, and on what grounds.
type Settlement struct {
	Who      string
	Why      string
	Evidence string
	At       Instant
}

// Extension is a field of the stored form that this version does not know. It is carried along
// unchanged, so that an older process does not destroy what a newer one wrote.
type Extension struct {
	Tag  uint64
	Data []byte
}

// Record is all that is known about one key. Records are values: Step never changes one that it was
// given, and whoever shares a *Record must not either.
type Record struct {
	Scope        Scope
	Generation   Generation // of the store, when the record was claimed
	State        State
	Owner        Digest // of the owner token; zero once settled
	Attempt      uint32 // counts claims that were granted, from 1
	Revision     uint64 // counts changes, from 1
	Operation    ID     // of the claim
	Nonce        Nonce  // of the invocation; zero until started
	Fingerprint  Fingerprint
	Policy       uint32 // revision of the caller's policy
	Interruption Interruption

	LeaseEnd      Instant
	WindowEnd     Instant // until then a completed record replays
	RememberUntil Instant // from then on it counts as absent; zero: never
	Claimed       Instant
	Started       Instant
	Finished      Instant

	Reason     string   // of an abandoned or retryable record
	Response   Response // the answer; of an abandoned or retryable record: evidence, never replayed
	Settlement Settlement
	Last       Transition
	Extensions []Extension
}

// Judge returns the state that the record is in at an instant, and the reason where that state is
// abandoned. It is the one place where expiry, lease and window are compared with the time: a claim
// and an inspection at one instant cannot disagree. A nil record is absent.
func (r *Record) Judge(at Instant) (State, string) {
	switch {
	case r == nil || r.forgotten(at):
		return Absent, ""
	case r.interrupted(at):
		return Abandoned, ReasonInterrupted
	case r.State == Completed && at >= r.WindowEnd:
		return Expired, ""
	}
	return r.State, r.Reason
}

// leaseLive reports whether the lease holds: up to, not at, its end.
func (r *Record) leaseLive(at Instant) bool { return at < r.LeaseEnd }

// interrupted reports whether an execution lost its lease under a policy that forbids a rerun.
func (r *Record) interrupted(at Instant) bool {
	return r.State == Executing && r.Interruption == Quarantine && !r.leaseLive(at)
}

// forgotten reports whether the record counts as absent. What is unfinished is never forgotten: a
// record that faded between effect and completion would make its key look new.
func (r *Record) forgotten(at Instant) bool {
	end := r.ForgottenAt()
	return end != 0 && at >= end
}

// ForgottenAt returns when the record counts as absent if nothing changes it; zero means never.
func (r *Record) ForgottenAt() Instant {
	switch r.State {
	case Completed, Retryable:
		return r.RememberUntil
	case Claimed:
		return r.LeaseEnd.Add(forgottenAfterLease)
	}
	return 0
}

// window returns the replay window as it was given when the record was completed.
func (r *Record) window() time.Duration { return r.WindowEnd.Sub(r.Finished) }

// remembered returns how long the finished record was to be remembered, as it was given.
func (r *Record) remembered() time.Duration { return r.RememberUntil.Sub(r.Finished) }

// stored returns a duration as it survives being stored.
func stored(d time.Duration) time.Duration { return d.Truncate(time.Microsecond) }

// sameResponse reports whether two responses are the same answer.
func sameResponse(a, b Response) bool {
	return a.Codec == b.Codec && a.Digest == b.Digest && a.NotKept == b.NotKept
}
