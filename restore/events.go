package restore

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// The kinds of events.
const (
	EventBegun       = "begun"
	EventTaken       = "taken-over" // another process manages the session
	EventStep        = "step"       // the session is in another state
	EventPaused      = "paused"
	EventResumed     = "resumed"
	EventPaced       = "paced"
	EventCancelled   = "cancelled"
	EventLost        = "lost" // the target system was lost again
	EventTrouble     = "trouble"
	EventSplit       = "split"
	EventQuarantined = "quarantined"
	EventLate        = "late" // a worker was refused
)

// Event is something that happened to a session.
type Event struct {
	ID   int64
	At   time.Time
	Kind string
	// Who is a person or a process.
	Who, Detail string
}

// Events returns what happened to a session after an event, 0 for all, at most limit of it.
func (s *Sessions) Events(ctx context.Context, session, after int64, limit int) (all []Event, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		all = nil
		var e Event
		var at int64
		return tx.Each(s.sql.events, []any{session, after, limit}, []any{&e.ID, &at, &e.Kind, &e.Who, &e.Detail}, func() error {
			e.At = database.Instant(at)
			all = append(all, e)
			return nil
		})
	})
	return all, err
}

// tell notes an event of a process.
func (s *Sessions) tell(ctx context.Context, session int64, kind, who, detail string) error {
	_, err := s.db.Do(ctx, s.sql.addEvent, session, kind, who, kept(detail))
	return err
}
