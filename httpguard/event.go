package httpguard

import "time"

// Event tells what became of one request.
type Event struct {
	// Operation is its name; empty when it was not guarded or refused before that mattered.
	Operation string
	// Outcome is one of the Outcome constants, or the type of the problem that it was answered with.
	Outcome string
	// Unrecorded: the answer was given although the store did not confirm it.
	Unrecorded bool
	// Elapsed is how long it took.
	Elapsed time.Duration
}

// Outcomes of requests that were not answered with a problem of this package. The ratio of replayed to
// fresh shows whether retries are recognised at all.
const (
	// OutcomeUnguarded: another method, or no key where keys are optional.
	OutcomeUnguarded = "unguarded"
	// OutcomeFresh: the handler ran and its answer is recorded.
	OutcomeFresh = "fresh"
	// OutcomeReplayed: the answer of an earlier request was given.
	OutcomeReplayed = "replayed"
	// OutcomeNoEffect: the handler ran without an effect; the key can be tried again.
	OutcomeNoEffect = "no-effect"
	// OutcomeUnknown: the handler ran, and its answer leaves open whether something happened.
	OutcomeUnknown = "unknown"
	// OutcomePanicked: the handler panicked.
	OutcomePanicked = "panicked"
	// OutcomeFailedOpen: the store could not be asked, and the handler ran unguarded.
	OutcomeFailedOpen = "failed-open"
)
