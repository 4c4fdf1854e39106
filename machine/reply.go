package machine

// Outcome is what a command came to.
type Outcome uint8

// Outcomes of Claim and Begin.
const (
	// Invalid: the command itself makes no sense; Reason says why. Answers every kind of command.
	Invalid Outcome = iota
	// Acquired: the record is new and the caller's.
	Acquired
	// TakenOver: the caller holds a record that was given up or ran out; From says in which state.
	TakenOver
	// ReplayedAcquire: the caller's own claim or begin, sent again.
	ReplayedAcquire
	// FingerprintMismatch: the key was used for another request.
	FingerprintMismatch
	// Gone: answered once, and the replay window is over.
	Gone
	// Replay: answered; Response is the answer, or says that it was not kept.
	Replay
	// ReplayIncompatible: answered in a form that the caller cannot read; Reason says which.
	ReplayIncompatible
	// RecoveryRequired: nobody knows whether the effect happened; Reason says why.
	RecoveryRequired
	// OwnerConflict: the owner token holds the key for another operation.
	OwnerConflict
	// Takeable: the key can be taken over by claiming with Seen set to Revision.
	Takeable
	// InProgress: somebody holds the key until LeaseEnd; Yours says whether it is this owner token.
	InProgress
	// Barred: there is no record, and the claim's bounds forbid making one now.
	Barred
)

// Outcomes of the commands that change a record which the caller holds, and of settling.
const (
	Started Outcome = iota + 32
	Renewed
	CompletedNow
	Failed
	Released
	SettledNow
	// Already…: the command is a retry of the record's last transition, which stands.
	AlreadyStarted
	AlreadyRenewed
	AlreadyCompleted
	AlreadyFailed
	AlreadyReleased
	AlreadySettled
	// NotFound: there is no record.
	NotFound
	// NotOwner: the record is held by another owner, attempt or invocation, or by nobody.
	NotOwner
	// Stale: the record has another revision; Revision tells it.
	Stale
	// WrongState: the command does not apply to the record's state.
	WrongState
	// LeaseEnded: too late to start.
	LeaseEnded
	// ResponseConflict: a retry of the last transition with another response.
	ResponseConflict
	// WindowConflict: a retry of the last transition with another replay window or remember time.
	WindowConflict
	// ArgumentConflict: a retry of the last transition with other arguments.
	ArgumentConflict
)

// Outcomes of reading and forgetting.
const (
	// Found: Record is the record.
	Found Outcome = iota + 64
	// Forgotten: the record counted as absent and is deleted.
	Forgotten
	// Remembered: the record is still needed and stays.
	Remembered
)

var outcomeNames = map[Outcome]string{
	Invalid: "invalid", Acquired: "acquired", TakenOver: "taken-over", ReplayedAcquire: "replayed-acquire",
	FingerprintMismatch: "fingerprint-mismatch", Gone: "gone", Replay: "replay",
	ReplayIncompatible: "replay-incompatible", RecoveryRequired: "recovery-required",
	OwnerConflict: "owner-conflict", Takeable: "takeable", InProgress: "in-progress", Barred: "barred",
	Started: "started", Renewed: "renewed", CompletedNow: "completed", Failed: "failed",
	Released: "released", SettledNow: "settled", AlreadyStarted: "already-started",
	AlreadyRenewed: "already-renewed", AlreadyCompleted: "already-completed", AlreadyFailed: "already-failed",
	AlreadyReleased: "already-released", AlreadySettled: "already-settled", NotFound: "not-found",
	NotOwner: "not-owner", Stale: "stale", WrongState: "wrong-state", LeaseEnded: "lease-ended",
	ResponseConflict: "response-conflict", WindowConflict: "window-conflict", ArgumentConflict: "argument-conflict",
	Found: "found", Forgotten: "forgotten", Remembered: "remembered",
}

// String returns the outcome's name, such as "taken-over".
func (o Outcome) String() string {
	if name, ok := outcomeNames[o]; ok {
		return name
	}
	return "unknown"
}

// Applied reports whether the command was carried out, and not an earlier copy of it. Whether the
// record changed is told by what [Step] returns: a Begin that goes on from its owner's own claim is a
// ReplayedAcquire, and starts the record.
func (o Outcome) Applied() bool {
	switch o {
	case Acquired, TakenOver, Started, Renewed, CompletedNow, Failed, Released, SettledNow, Forgotten:
		return true
	}
	return false
}

// Reply answers a command. Apart from Outcome and At, fields describe the record after the command;
// they are zero where there is none, and where the caller has no right to know (a mismatch).
type Reply struct {
	Outcome Outcome
	At      Instant // the store's time at which it was decided
	State   State   // as judged at that time
	Reason  string

	Attempt  uint32
	Revision uint64
	LeaseEnd Instant
	// Yours reports whether the command's owner token is the record's.
	Yours bool
	// From is the state that a takeover found.
	From State

	// Response is the answer, for Replay only.
	Response      Response
	Finished      Instant // when the answer was recorded
	WindowEnd     Instant
	RememberUntil Instant

	// Record is the record itself, for Found only. It is shared: do not change it.
	Record *Record
}

// answer describes a record in a reply.
func answer(outcome Outcome, r *Record, at Instant) Reply {
	reply := Reply{Outcome: outcome, At: at}
	if r == nil {
		return reply
	}
	reply.State, reply.Reason = r.Judge(at)
	reply.Attempt, reply.Revision, reply.LeaseEnd = r.Attempt, r.Revision, r.LeaseEnd
	reply.Finished, reply.WindowEnd, reply.RememberUntil = r.Finished, r.WindowEnd, r.RememberUntil
	return reply
}
