package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Decision is an operator's word on an operation of which nobody knows whether it happened.
type Decision struct {
	Digest machine.Digest
	// Revision is that of the record which was judged. The decision is refused if it has changed since.
	Revision uint64
	// Completed: it happened, and Response is its answer from now on. Otherwise: it has not happened
	// and can no longer happen, so that the key may be tried again. Whoever still runs is refused.
	Completed bool
	// Response is the answer, made with [machine.NewResponse] in a codec that the guard can read.
	Response machine.Response
	// Who decides, and why; both required. Evidence says what they saw. All are kept in the record.
	Who, Why, Evidence string
	// Window is how long the answer replays, and Remember how long the record is remembered. Zero: as the service's [Options] say.
	Window, Remember time.Duration
}

// Settled is a decision that stands.
type Settled struct {
	State    string    `json:"state"`
	Revision uint64    `json:"revision"`
	At       time.Time `json:"at"` // the store's time
	// WindowEnd is until when its answer replays, if it has one, and RememberUntil until when its key is remembered.
	WindowEnd     time.Time `json:"window_end,omitzero"`
	RememberUntil time.Time `json:"remember_until,omitzero"`
}

// Settle decides an abandoned record. A reply that is lost is made up for by sending the same decision
// again, which changes nothing when it has been applied. An error that is [store.ErrIndeterminate] means
// that it may stand: look at the record.
func (s *Service) Settle(ctx context.Context, d Decision) (Settled, error) {
	operation, err := uuid.NewV7()
	if err != nil {
		return Settled{}, fmt.Errorf("settle: no random bytes for an operation id: %w", err)
	}
	command := machine.Settle{
		Scope: machine.Scope{Digest: d.Digest}, Operation: machine.ID(operation), Revision: d.Revision,
		Completed: d.Completed, Response: d.Response, Window: orDefault(d.Window, s.options.Window), Remember: orDefault(d.Remember, max(d.Window, s.options.Remember)),
		Who: d.Who, Why: d.Why, Evidence: d.Evidence,
	}
	if reason := command.Invalid(); reason != "" {
		return Settled{}, fmt.Errorf("%w: %s", ErrInvalid, reason)
	}
	reply, lost, err := s.send(ctx, command)
	if err != nil {
		return Settled{}, fmt.Errorf("settling record %v: %w", d.Digest, err)
	}
	switch reply.Outcome {
	case machine.SettledNow, machine.AlreadySettled:
		return Settled{
			State: reply.State.String(), Revision: reply.Revision, At: reply.At.Time(),
			WindowEnd: timeOf(reply.WindowEnd), RememberUntil: timeOf(reply.RememberUntil),
		}, nil
	case machine.NotFound:
		err = fmt.Errorf("%w: %v (it may have been forgotten)", ErrNotFound, d.Digest)
	case machine.Stale:
		err = s.conflict(ctx, ErrStale, d, reply)
	case machine.WrongState:
		err = s.conflict(ctx, ErrWrongState, d, reply)
	default:
		err = fmt.Errorf("%w: the store answers %v %s", ErrInvalid, reply.Outcome, reply.Reason)
	}
	if lost { // an earlier copy may have been applied, and the record may have gone on from there
		err = store.Indeterminate(err)
	}
	return Settled{}, err
}

// send applies a command, again while nobody knows whether it was applied. lost tells whether the
// reply of an earlier copy was.
func (s *Service) send(ctx context.Context, command machine.Settle) (reply machine.Reply, lost bool, err error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 2*time.Second
	for try := 1; ; try++ {
		reply, err = s.once(ctx, command)
		if err == nil {
			return reply, lost, nil
		}
		kind := store.Classify(err)
		lost = lost || errors.Is(kind, store.ErrIndeterminate)
		if !lost {
			return reply, lost, err
		}
		if try == s.options.Tries || errors.Is(kind, store.ErrCorrupt) || wait(ctx, pause.NextBackOff()) != nil {
			// The last error may say that nothing was applied. It speaks for the last copy only.
			return reply, lost, fmt.Errorf("%w: the decision may stand: look at the record, and decide again if it is still abandoned: %s", store.ErrIndeterminate, err.Error())
		}
	}
}

func (s *Service) once(ctx context.Context, command machine.Settle) (machine.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	return s.store.Apply(ctx, command)
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// ConflictError says that a decision does not fit the record as it is now. Nothing was changed.
type ConflictError struct {
	// Kind is ErrStale or ErrWrongState.
	Kind error
	// Judged is the revision that the decision was about.
	Judged uint64
	// Now is the record as it is. If it could not be read, only digest, state, revision and attempt are set.
	Now Record
}

func (s *Service) conflict(ctx context.Context, kind error, d Decision, reply machine.Reply) error {
	now, err := s.Show(ctx, d.Digest)
	if err != nil {
		now = Record{Digest: d.Digest.String(), State: reply.State.String(), Reason: reply.Reason, Revision: reply.Revision, Attempt: reply.Attempt}
	}
	return &ConflictError{Kind: kind, Judged: d.Revision, Now: now}
}

// Error implements error.
func (e *ConflictError) Error() string {
	if errors.Is(e.Kind, ErrStale) {
		text := fmt.Sprintf("%v: revision %d was judged, and it is at %d now, %s (attempt %d)", e.Kind, e.Judged, e.Now.Revision, e.Now.State, e.Now.Attempt)
		if e.Now.LastChange != "" {
			text += ", last changed by " + e.Now.LastChange
		}
		if s := e.Now.Settlement; s != nil {
			text += fmt.Sprintf(", settled by %s at %s", s.Who, s.At.Format(time.RFC3339))
		}
		return text + ": look at it again before you decide"
	}
	text := fmt.Sprintf("%v: it is %s, and only an abandoned record can be settled", e.Kind, e.Now.State)
	if e.Now.State == machine.Executing.String() || e.Now.State == machine.Claimed.String() {
		text += fmt.Sprintf("; somebody holds it until %s", e.Now.LeaseEnd.Format(time.RFC3339))
	}
	return text
}

// Unwrap lets errors.Is find the kind.
func (e *ConflictError) Unwrap() error { return e.Kind }
