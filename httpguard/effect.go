package httpguard

import (
	"errors"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// EffectProblem says to the client why an effect that commits with its record has no answer: it takes the errors of
// [reprise.Guard.Prepare] and of a store's Do and Join. An error that is none of theirs, such as the action's own, is
// taken for one of the store: nothing was done. An action that has more to say is asked first.
func EffectProblem(err error) Problem {
	if failure, ok := errors.AsType[*reprise.Error](err); ok {
		p, _ := refusal(failure)
		return p
	}
	if refused, ok := errors.AsType[*store.Refusal](err); ok {
		return recordProblem(refused)
	}
	failure := &reprise.Error{Kind: reprise.ErrUnavailable}
	switch {
	case errors.Is(err, store.ErrIndeterminate):
		return Problem{Type: ProblemOutcomeUnknown, RetryAfter: time.Second,
			Detail: "It took effect, or it did not: the commit was not confirmed. Send the same request again, with the same key: that finds out."}
	case errors.Is(err, store.ErrLost):
		failure.Kind = reprise.ErrLost
	case errors.Is(err, store.ErrCorrupt):
		failure.Kind = reprise.ErrCorrupt
	}
	p, _ := refusal(failure)
	return p
}

// recordProblem says what the record of a key says, in the words that the middleware has for it.
func recordProblem(refused *store.Refusal) Problem {
	reply := refused.Reply
	failure := &reprise.Error{Kind: reprise.ErrUnavailable, Digest: refused.Scope.Digest}
	if !reply.Finished.IsZero() {
		failure.StoredAt = reply.Finished.Time()
	}
	switch reply.Outcome {
	case machine.FingerprintMismatch:
		failure.Kind = reprise.ErrMismatch
	case machine.InProgress:
		failure.Kind, failure.RetryAfter = reprise.ErrInProgress, reply.LeaseEnd.Sub(reply.At)
	case machine.Gone:
		failure.Kind = reprise.ErrExpired
	case machine.ReplayIncompatible:
		failure.Kind = reprise.ErrIncompatible
	case machine.RecoveryRequired:
		failure.Kind = reprise.ErrUnknown
	}
	p, _ := refusal(failure)
	return p
}
