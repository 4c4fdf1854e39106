package form

import (
	"fmt"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Doubt is a command that was sent, and nobody knows whether it was committed.
type Doubt struct {
	Previous *machine.Record // that the command was applied to
	At       machine.Instant // at which it was decided; zero: by a group, the record says
	Cause    error
}

// Settle finds out whether the command led to the record that is there. Then the reply is the one that
// was lost.
func (d *Doubt) Settle(command machine.Command, record *machine.Record, now machine.Instant) (*machine.Record, machine.Reply, bool) {
	at := d.At
	if at == 0 && record != nil {
		if at = record.Claimed; command.Kind() == machine.KindComplete {
			at = record.Finished
		}
	}
	if at == 0 {
		at = now
	}
	next, reply := machine.Step(d.Previous, command, at.Time())
	return next, reply, next != d.Previous && Same(next, record)
}

// Or returns what is known at the end: the doubt if there is one, else err.
func (d *Doubt) Or(err error) error {
	if d == nil {
		return err
	}
	return InDoubtStill(d.Cause, err)
}

// InDoubtStill returns the error of something that may have been committed, and of which a later try could
// not find out. What the later error says is true of that try alone, so it is told in words: an error that
// is unavailable, too, would be taken for certain.
func InDoubtStill(cause, later error) error {
	return store.Indeterminate(fmt.Errorf("%w; and then: %s", cause, later.Error()))
}
