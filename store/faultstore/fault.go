package faultstore

import (
	"errors"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// errInjected is the cause of every error that this package makes.
var errInjected = errors.New("fault injected by a test")

// Fault is what goes wrong with one command. The zero value is no fault.
type Fault struct {
	before error           // the command is not applied, and this is returned
	after  error           // the command is applied, its reply is lost, and this is returned
	hold   <-chan struct{} // the command waits for this before it is applied
	mute   <-chan struct{} // the reply waits for this after the command was applied
	copies int             // applied so many times more, at once
	late   <-chan struct{} // one more copy is applied when this is closed
}

// Refused: the command is not applied, and the caller is told so ([store.ErrUnavailable]).
func Refused() Fault { return Fault{before: store.Unavailable(errInjected)} }

// Lost: the store says that it lost its data ([store.ErrLost]); the command is not applied.
func Lost() Fault { return Fault{before: store.ErrLost} }

// Unsent: the command is not applied, and the caller cannot know ([store.ErrIndeterminate]).
func Unsent() Fault { return Fault{before: store.Indeterminate(errInjected)} }

// ReplyLost: the command is applied, and the caller cannot know ([store.ErrIndeterminate]).
func ReplyLost() Fault { return Fault{after: store.Indeterminate(errInjected)} }

// Twice: the command is delivered twice. The caller gets the reply of the first delivery.
func Twice() Fault { return Fault{copies: 1} }

// HeldUntil: the command is applied only when release is closed. A caller whose context ends first is
// told that it cannot know, and the command is applied all the same when release is closed.
func HeldUntil(release <-chan struct{}) Fault { return Fault{hold: release} }

// AnsweredAfter: the command is applied at once, and its reply arrives when release is closed. A caller
// whose context ends first is told that it cannot know.
func AnsweredAfter(release <-chan struct{}) Fault { return Fault{mute: release} }

// CopiedLate: the command is applied, and once more when release is closed: a late copy.
func CopiedLate(release <-chan struct{}) Fault { return Fault{late: release} }

// Plan decides what goes wrong with the n-th command that a [Store] is given, counted from 1. It is
// called from many goroutines, one at a time.
type Plan func(n int, command machine.Command) Fault

// None is the plan under which nothing goes wrong.
func None(int, machine.Command) Fault { return Fault{} }

// Nth breaks the n-th command.
func Nth(n int, fault Fault) Plan {
	return func(i int, _ machine.Command) Fault { return faultIf(i == n, fault) }
}

// From breaks the n-th command and all after it, as when a store goes away.
func From(n int, fault Fault) Plan {
	return func(i int, _ machine.Command) Fault { return faultIf(i >= n, fault) }
}

// First breaks the first command of a kind.
func First(kind machine.Kind, fault Fault) Plan {
	met := false
	return func(_ int, command machine.Command) Fault {
		hit := !met && command.Kind() == kind
		met = met || hit
		return faultIf(hit, fault)
	}
}

// Every breaks every command of a kind.
func Every(kind machine.Kind, fault Fault) Plan {
	return func(_ int, command machine.Command) Fault { return faultIf(command.Kind() == kind, fault) }
}

// Both follows the first plan that has a fault.
func Both(a, b Plan) Plan {
	return func(n int, command machine.Command) Fault {
		first, second := a(n, command), b(n, command)
		if first != (Fault{}) {
			return first
		}
		return second
	}
}

func faultIf(hit bool, fault Fault) Fault {
	if hit {
		return fault
	}
	return Fault{}
}
