package reprise

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// What an error of this package says. See the table in the package comment.
var (
	// ErrInvalid: the call or the policy makes no sense. Nothing was sent.
	ErrInvalid = errors.New("invalid")
	// ErrInProgress: another invocation holds the key; Error.RetryAfter tells for how long at most.
	ErrInProgress = errors.New("in progress")
	// ErrMismatch: the key was used for another request.
	ErrMismatch = errors.New("key was used for another request")
	// ErrExpired: the key was answered, and the replay window is over.
	ErrExpired = errors.New("answered before, and the answer has expired")
	// ErrNotKept: the key was answered with something that was not kept.
	ErrNotKept = errors.New("answered before, and the answer was not kept")
	// ErrIncompatible: the key was answered in a form that this version cannot read.
	ErrIncompatible = errors.New("answered before, in a form this version cannot read")
	// ErrUnknown: nobody knows whether the effect happened. The key stays so until it is settled.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNoEffect: the action failed and had no effect; the key may be tried again. Error.Cause is the
	// action's error.
	ErrNoEffect = errors.New("no effect")
	// ErrUnavailable: the store cannot be asked. The action was not run; try again.
	ErrUnavailable = errors.New("store unavailable")
	// ErrLost: the store has lost its data. The action was not run. errors.Is finds ErrUnavailable too.
	ErrLost = errors.New("store has lost its data")
	// ErrOutdated: the store can be asked, and makes no record under the versions of the secret that it named just before, three times: the
	// claim came too late each time, or its clock jumps. Under a version that this process has not seen the key may have a record,
	// so nothing may take this for a store that cannot be asked and run all the same. Try again; errors.Is finds ErrUnavailable too.
	ErrOutdated = errors.New("the claim came too late to make a record")
	// ErrCorrupt: the record of the key cannot be read. The action was not run.
	ErrCorrupt = errors.New("record cannot be read")
	// ErrSecret: the secret is not the one under which the store's records were made.
	ErrSecret = errors.New("secret does not fit the store")
	// ErrLeaseLost is the cause with which an action's context ends when the lease can no longer be
	// shown to be held, and the error of [Run.Start] and [Run.Complete] when it is not.
	ErrLeaseLost = errors.New("lease lost")
	// ErrClosed: the guard was closed.
	ErrClosed = errors.New("guard is closed")
)

// Error is the type of every error that a guard makes. Ask for what it says with errors.Is, and for
// the details with errors.As.
type Error struct {
	// Kind is one of the variables above.
	Kind error
	// Digest names the record, for `reprise ops show`. Zero where there is none.
	Digest machine.Digest
	// Detail says more, for a person.
	Detail string
	// RetryAfter is when to ask again; zero where nothing is known.
	RetryAfter time.Duration
	// Response is the short note that stands for an answer which was not kept.
	Response Response
	// StoredAt is when the answer was recorded, on the store's clock.
	StoredAt time.Time
	// Cause is the error behind this one: the action's or the store's.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("reprise: ")
	b.WriteString(e.Kind.Error())
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Unwrap lets errors.Is and errors.As see the kind and the cause.
func (e *Error) Unwrap() []error {
	errs := []error{e.Kind}
	if e.Kind == ErrLost || e.Kind == ErrOutdated {
		errs = append(errs, ErrUnavailable)
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	return errs
}

func invalid(format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Detail: fmt.Sprintf(format, args...)}
}
