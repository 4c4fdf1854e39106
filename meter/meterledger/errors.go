package meterledger

import (
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// What a ledger says no with; nothing was changed then. Callers ask with errors.Is. Beside these there are
// [meter.Refusal] of a row, grant or policy that is none, and of what a server says [store.ErrUnavailable],
// [store.ErrIndeterminate] and [store.ErrSchema].
var (
	// ErrOldGeneration: the writer knows an older Redis than the one that is believed. What it decided counts
	// for nothing and is decided again.
	ErrOldGeneration = errors.New("of an older generation")
	// ErrConflict: the same id, or the same version, is there with other content, or somebody was first.
	ErrConflict = errors.New("conflict")
	// ErrUnknown: a line, a family or a grant is not in the ledger.
	ErrUnknown = errors.New("not in the ledger")
	// ErrLate: a process of a restore was stopped, and another one has gone on in its place.
	ErrLate = errors.New("of an older epoch")
	// ErrHeld: a restore is under way, and what was asked for waits for its end.
	ErrHeld = errors.New("held by a restore")
	// ErrCalendar: days and months are counted by another calendar.
	ErrCalendar = errors.New("the ledger has another calendar")
	// ErrHorizon: what is kept in Redis is kept for another time.
	ErrHorizon = errors.New("the ledger has another horizon")
	// ErrNotDrained: a line cannot move yet, because something of it is still under way.
	ErrNotDrained = errors.New("not drained")
)

func oldGeneration(yours, current meter.Generation) error {
	if current == "" {
		return fmt.Errorf("%w: no Redis was hydrated yet, and this is of %q: hydrate first", ErrOldGeneration, yours)
	}
	return fmt.Errorf("%w: this is of %q, and the current one is %q: decide it again", ErrOldGeneration, yours, current)
}

func conflict(format string, arguments ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrConflict}, arguments...)...)
}

func unknown(what, id string) error {
	return fmt.Errorf("%w: %s %q: import it", ErrUnknown, what, id)
}

func refusal(reason meter.Reason, field, format string, arguments ...any) error {
	return &meter.Refusal{Reason: reason, Field: field, Detail: fmt.Sprintf(format, arguments...)}
}

// unreadable is the error of a row of which no reader can make sense.
func unreadable(what string, cause error) error {
	return fmt.Errorf("%w: %s: %w: look at the row, and put it right from a backup", store.ErrCorrupt, what, cause)
}
