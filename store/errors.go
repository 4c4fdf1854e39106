package store

import (
	"context"
	"errors"
	"fmt"
)

// What an error of a store says. Stores wrap these; callers ask with errors.Is.
var (
	// ErrUnavailable: the command was certainly not applied. Sending it again is safe.
	ErrUnavailable = errors.New("store unavailable")
	// ErrIndeterminate: the command may have been applied. Send the same command again, or inspect.
	ErrIndeterminate = errors.New("store did not answer: the command may have been applied")
	// ErrCorrupt: the record is there and cannot be read. Nothing was changed.
	ErrCorrupt = errors.New("record cannot be read")
	// ErrLost: the store has lost its data, or may have. It refuses until an operator accepted or
	// undid the loss. errors.Is finds ErrUnavailable in it too.
	ErrLost error = lost{}
	// ErrUnsupported: the store, or the one behind its decorators, cannot do what was asked.
	ErrUnsupported = errors.New("not supported by this store")
	// ErrSecretTooLate: a version of the secret was announced too late for every process to learn of it
	// before it makes records.
	ErrSecretTooLate = errors.New("secret announced too late")
	// ErrSecretReused: a version of the secret has the bytes of another one.
	ErrSecretReused = errors.New("secret used before")
	// ErrCursor: no page of this listing gave this cursor, or it is not valid any more.
	ErrCursor = errors.New("not a cursor of this listing")
	// ErrLimit: no page, and no purge, can have so few records.
	ErrLimit = errors.New("not a limit")
	// ErrSchema: the store's schema is not one that this version can work with.
	ErrSchema = errors.New("schema does not fit")
)

type lost struct{}

func (lost) Error() string        { return "store has lost its data" }
func (lost) Is(target error) bool { return target == ErrUnavailable }

// Unavailable wraps a cause as [ErrUnavailable].
func Unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

// Indeterminate wraps a cause as [ErrIndeterminate].
func Indeterminate(cause error) error { return fmt.Errorf("%w: %w", ErrIndeterminate, cause) }

// Corrupt wraps a cause as [ErrCorrupt], with the way out.
func Corrupt(digest fmt.Stringer, cause error) error {
	return fmt.Errorf("%w: %w: record %v; look at it with `reprise ops show`, restore it from a backup, or settle what it was about by hand", ErrCorrupt, cause, digest)
}

// Classify returns what kind of error it is: one of the variables above. An error that says nothing of
// itself is indeterminate; a context that ended is too, because nobody knows when. So is one that says both
// that something may have been applied and that something was not: the second is about a part.
func Classify(err error) error {
	for _, known := range []error{ErrLost, ErrIndeterminate, ErrUnavailable, ErrCorrupt, ErrUnsupported, ErrSchema} {
		if errors.Is(err, known) {
			return known
		}
	}
	return ErrIndeterminate
}

// NotSent returns the error for a context that had ended before anything was sent, or nil.
func NotSent(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return Unavailable(err)
}
