// Package store says what a place that keeps records must do, and nothing about how.
//
// A store has one verb. Apply runs one command of package machine on one record, atomically, by the
// store's own clock: as if it locked the record, read the time, called [machine.Step] and wrote the
// result. Everything else (listing, counting, purging, waiting) is an optional interface beside it,
// found by a type assertion; a caller that needs one says so in its error when it is missing.
//
// To add a store: implement Apply and the interfaces that fit, then call storetest.Run.
package store

import (
	"context"

	"github.com/reprise-dev/reprise/machine"
)

// Store keeps records.
type Store interface {
	// Apply runs a command on the record of its target, atomically for that record, and returns what
	// [machine.Step] answers. The time is the store's, read after the record was locked.
	//
	// An error says what is known: errors.Is finds [ErrUnavailable] when the command was certainly
	// not applied, [ErrIndeterminate] when it may have been, [ErrCorrupt] when the record cannot be
	// read, [ErrLost] (which is also unavailable) when the store has lost its data. An error that is
	// none of these is to be taken for indeterminate. A reply that refuses is no error.
	//
	// A context that ends before the command was sent gives unavailable, later indeterminate. The
	// command and what it points to are not kept after Apply returned, except response data that
	// becomes part of a record. Replies share memory with the store: do not change what they point to.
	Apply(ctx context.Context, command machine.Command) (machine.Reply, error)
	// Close ends the store's work and releases what it holds. Commands under way end first; later
	// ones are unavailable.
	Close() error
}

// Unwrapper is a decorator that can be looked behind.
type Unwrapper interface {
	// Unwrap returns the decorated store.
	Unwrap() Store
}

// As finds the first store in a chain of decorators that has the interface T. Optional interfaces are
// looked for with it, so that a decorator need not repeat those it has nothing to add to.
func As[T any](s Store) (T, bool) {
	for s != nil {
		if found, ok := s.(T); ok {
			return found, true
		}
		u, ok := s.(Unwrapper)
		if !ok {
			break
		}
		s = u.Unwrap()
	}
	var none T
	return none, false
}
