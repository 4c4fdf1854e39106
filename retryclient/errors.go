package retryclient

import (
	"errors"
	"fmt"
	"net/http"
)

// What an error says about the call. See the table in the package comment.
var (
	// ErrUnknown: the call may have taken effect. The error is an [*UnknownError].
	ErrUnknown = errors.New("outcome unknown")
	// ErrKeyReused: the key was used for another request. The error is a [*RefusedError].
	ErrKeyReused = errors.New("key was used for another request")
	// ErrExpired: answered before, and the answer has expired. The error is a [*RefusedError].
	ErrExpired = errors.New("answered before, and the answer has expired")
	// ErrNotKept: answered before, and the answer was not kept. The error is a [*RefusedError].
	ErrNotKept = errors.New("answered before, and the answer was not kept")
	// ErrIncompatible: answered before, in a form that the server cannot read. The error is a [*RefusedError].
	ErrIncompatible = errors.New("answered before, in a form that the server cannot read")
	// ErrInvalid: the request cannot be made safe to repeat. Nothing was sent.
	ErrInvalid = errors.New("request cannot be sent safely")
)

// UnknownError says that nobody knows whether the call took effect. Send the same request under
// [WithKey] with the same key to ask again; under another key it would be another call.
type UnknownError struct {
	// Key is the key of the call. It is not part of the message, which may end up in a log.
	Key string
	// Tries is how many tries were made.
	Tries int
	// Status is that of the last answer; 0 when there was none.
	Status int
	// Detail is what the server said about it, for a person.
	Detail string
	// Cause is the error of the last try or of the context; nil when the server answered.
	Cause error
}

// Error implements error.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("retryclient: outcome unknown (tries: %d", e.Tries)
	if e.Status != 0 {
		text += ", last answer " + status(e.Status, e.Detail)
	}
	text += "): ask again with the same key"
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap lets errors.Is find [ErrUnknown] and the cause.
func (e *UnknownError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrUnknown}
	}
	return []error{ErrUnknown, e.Cause}
}

// RefusedError is the server's word that the key cannot be answered. Trying again does not help.
type RefusedError struct {
	// Kind is one of ErrKeyReused, ErrExpired, ErrNotKept and ErrIncompatible.
	Kind error
	// Key is the key of the call. It is not part of the message.
	Key string
	// Status is that of the refusal.
	Status int
	// Detail is what the server said about it, for a person.
	Detail string
	// Document is the refusal as it was received: an RFC 9457 problem, which may say more.
	Document []byte
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("retryclient: %v (%s)", e.Kind, status(e.Status, e.Detail))
}

// Unwrap lets errors.Is find the kind.
func (e *RefusedError) Unwrap() error { return e.Kind }

func status(code int, detail string) string {
	text := fmt.Sprintf("%d %s", code, http.StatusText(code))
	if detail != "" {
		text += ": " + detail
	}
	return text
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("retryclient: %w: %w", ErrInvalid, fmt.Errorf(format, args...))
}
