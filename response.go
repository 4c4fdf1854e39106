package reprise

import (
	"slices"

	"github.com/reprise-dev/reprise/machine"
)

// Response is the answer of an action, as it is recorded and replayed.
type Response struct {
	// Codec names how Data is to be read, so that a version which cannot read it says so instead of
	// giving a wrong answer. Empty means "raw/1": bytes as they are. A name of more than 64 bytes cannot be recorded: the answer is then
	// not kept.
	Codec string
	// Data is the answer; nil and empty are both a value. The guard keeps it: do not change it.
	Data []byte
	// NotKept says that the answer is given once and not replayed. Data may then be something short
	// about it, such as a status.
	NotKept bool
}

// The codecs of this package.
const (
	CodecRaw  = "raw/1"  // bytes as they are; of a [Response] that names none
	CodecJSON = "json/1" // of [DoJSON]
)

// Record returns the response in the form in which records hold it.
func (r Response) Record() machine.Response {
	codec := r.Codec
	if codec == "" {
		codec = CodecRaw
	}
	kept := machine.NewResponse(codec, r.Data)
	kept.NotKept = r.NotKept
	return kept
}

func responseOf(r machine.Response) Response {
	return Response{Codec: r.Codec, Data: r.Data, NotKept: r.NotKept}
}

// NoEffect wraps the error of an action that had no effect and can no longer have one: the key may be
// tried again. Any other error is taken for "nobody knows", also one of another guard that says [ErrNoEffect]:
// that is about the other guard's action. A nil error stays nil.
//
// It may be wrapped further, with %w. Where an error is made of several ([errors.Join], more than one %w), each of them must
// say so: what is known of one part of an action says nothing about the rest. Who knows it of the whole wraps the whole.
func NoEffect(err error) error {
	if err == nil {
		return nil
	}
	return &noEffect{err}
}

type noEffect struct{ cause error }

func (e *noEffect) Error() string { return e.cause.Error() }
func (e *noEffect) Unwrap() error { return e.cause }

// isNoEffect reports whether an error says so of the action that returned it, in each of its branches. What lies behind
// an [*Error] is what another guard was told of another action: this one may have had an effect before or after it.
func isNoEffect(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it goes through what is wrapped by itself
	case *noEffect:
		return true
	case *Error:
		return false
	case interface{ Unwrap() error }:
		return isNoEffect(e.Unwrap())
	case interface{ Unwrap() []error }:
		branches := e.Unwrap()
		return len(branches) > 0 && !slices.ContainsFunc(branches, func(b error) bool { return !isNoEffect(b) })
	}
	return false
}
