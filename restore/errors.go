package restore

import (
	"errors"
	"fmt"
	"time"
)

// What a session says no with; nothing was changed then. Callers ask with errors.Is. Beside these there are
// [store.ErrUnavailable], [store.ErrIndeterminate] and [store.ErrSchema] of the SQL server.
var (
	// ErrComplete: a session has restored everything, and nothing was lost since. Nothing was done.
	ErrComplete = errors.New("already complete, nothing done")
	// ErrRunning: another process manages a session of the plan.
	ErrRunning = errors.New("a restore is running")
	// ErrNone: the plan has no session, or none that is live.
	ErrNone = errors.New("no restore")
	// ErrOver: the session is over, or too near its end.
	ErrOver = errors.New("the restore is over")
	// ErrOtherPlan: the session was begun with another configuration, or for another failure.
	ErrOtherPlan = errors.New("another configuration")
	// ErrFailureTime: the time of the failure is in the future, which is an [ErrRequest] too, or longer ago than the plan can restore.
	ErrFailureTime = errors.New("time of failure")
	// ErrRequest: what is asked for makes no sense, or who asks, or why, cannot be kept.
	ErrRequest = errors.New("a restore that makes no sense")
	// ErrOtherSystem is what a plan says of a target system that is not the one that it restores.
	ErrOtherSystem = errors.New("another system")
	// ErrRefused is what a plan wraps if the target system does not let it do what it has to do, which waiting does not change.
	ErrRefused = errors.New("refused by the target system")
	// ErrFenced: a process is late. Another one manages the session now, the phase has changed, or the target system was
	// lost and has no fence.
	ErrFenced = errors.New("fenced off")
	// ErrLeaseLost: a process did not renew its lease in time, and somebody else may do what it did.
	ErrLeaseLost = errors.New("lease lost")
	// ErrIncomplete: something that the plan counted is missing.
	ErrIncomplete = errors.New("incomplete")
	// ErrBadUnit is what a plan wraps if it is no use to try a unit again.
	ErrBadUnit = errors.New("unit cannot be restored")
)

func running(s Session) error {
	next := "look at its status, or cancel it"
	if isCheck(s.Plan) {
		next = "wait for its end; if its process has died, for that of its lease"
	}
	return fmt.Errorf("%w: session %d of plan %q, begun by %s at %s, managed by %s since its last sign at %s: %s",
		ErrRunning, s.ID, s.Plan, s.Who, s.StartedAt.Format(time.RFC3339), s.Owner, s.HeartbeatAt.Format(time.RFC3339), next)
}

func otherPlan(s Session, d Description) error {
	return fmt.Errorf("%w: session %d of plan %q was begun by %s (%s) at %s with the configuration %s (%s), and this is %s (%s): use that configuration, or cancel the session if it is live",
		ErrOtherPlan, s.ID, s.Plan, s.Who, s.Program, s.StartedAt.Format(time.RFC3339), s.Digest, s.Configuration, d.Digest, d.Configuration)
}
