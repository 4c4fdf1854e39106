package restore

import (
	"cmp"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/internal/database"
)

// Request is what a session is begun with.
type Request struct {
	// FailedAt is when what is to be restored was lost, by the clock of the SQL server; the zero time is now.
	FailedAt time.Time
	Who, Why string
	// Rate is how many units a second each worker does at most; 0 is no limit. Batch is how many targets a worker takes at
	// once; 0 is 4. Of a session that is resumed, 0 leaves what it has.
	Rate  int64
	Batch int
	// Again begins one although the last one is complete and nothing is known to be lost since.
	Again bool
}

const (
	defaultBatch = 4
	maxBatch     = 1000
)

func (r Request) check() error {
	if r.Who == "" || r.Why == "" {
		return fmt.Errorf("%w: it keeps traffic out: say who wants it, and why", ErrRequest)
	}
	if err := checkWords(r.Who, r.Why); err != nil {
		return err
	}
	switch {
	case r.Rate < 0 || r.Batch < 0 || r.Batch > maxBatch:
		return fmt.Errorf("%w: a rate of %d units a second and batches of %d targets: write 0 or more, and up to %d targets", ErrRequest, r.Rate, r.Batch, maxBatch)
	}
	return nil
}

// What every server keeps of who does something and why, in characters.
const (
	maxWho = 255
	maxWhy = 4096
)

// checkWords refuses what a server would refuse, or cut off: the same on all of them, and before anything is asked of one. A server's own
// refusal cannot be told from one that passes.
func checkWords(who, why string) error {
	for _, word := range []struct {
		name, text string
		most       int
	}{{"who", who, maxWho}, {"why", why, maxWhy}} {
		switch {
		case !text(word.text):
			return fmt.Errorf("%w: %s is not UTF-8, or has a NUL", ErrRequest, word.name)
		case utf8.RuneCountInString(word.text) > word.most:
			return fmt.Errorf("%w: %s is longer than %d characters", ErrRequest, word.name, word.most)
		}
	}
	return nil
}

// begin begins a session, or returns the live one that nobody manages. intact says whether the target system has the
// generation of the session that it is asked about.
func (s *Sessions) begin(ctx context.Context, d Description, program string, r Request, intact func(Session) (bool, error)) (v Session, resumed bool, err error) {
	if err := r.check(); err != nil {
		return v, false, err
	}
	complete := int64(0) // the session that restored everything; the target system is asked outside of the transaction
	if last, err := s.Last(ctx, d.Name); err == nil && last.complete(r) {
		is, err := intact(last)
		if err != nil {
			return v, false, err
		}
		if is {
			complete = last.ID
		}
	}
	err = s.db.Change(ctx, func(tx *database.Tx) error {
		now, err := s.db.NowIn(tx)
		if err != nil {
			return err
		}
		last, found, err := s.read(tx, s.sql.lockLastSession, d.Name)
		if err != nil {
			return err
		}
		if found && !last.State.Over() {
			v, resumed = last, true
			if err := mayResume(last, d, r); err != nil {
				return err
			}
			return s.pace(tx, &v, cmp.Or(r.Rate, v.Rate), cmp.Or(r.Batch, v.Batch), r.Who)
		}
		failed := r.FailedAt
		if failed.IsZero() {
			failed = now
		}
		if err := checkFailure(failed, now, d); err != nil {
			return err
		}
		if found && last.ID == complete {
			v = last
			return fmt.Errorf("%w: session %d of plan %q was complete at %s, and nothing is known to be lost since", ErrComplete, last.ID, last.Plan, last.FinishedAt.Format(time.RFC3339))
		}
		return s.add(tx, d, program, r, failed, last.Epoch+1, &v)
	})
	return v, resumed, err
}

// complete reports whether a session has done what is asked for, unless something was lost since.
func (s Session) complete(r Request) bool {
	return s.State == Finished && !r.Again && (r.FailedAt.IsZero() || !r.FailedAt.After(s.FinishedAt))
}

// mayResume says why a live session cannot be gone on with.
func mayResume(last Session, d Description, r Request) error {
	switch {
	case last.Led:
		return running(last)
	case last.Digest != d.Digest:
		return otherPlan(last, d)
	case !r.FailedAt.IsZero() && !r.FailedAt.Truncate(time.Microsecond).Equal(last.FailedAt):
		return fmt.Errorf("%w: session %d is for the failure at %s, and this is for one at %s: go on without a time, or cancel the session",
			ErrOtherPlan, last.ID, last.FailedAt.Format(time.RFC3339Nano), r.FailedAt.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func checkFailure(failed, now time.Time, d Description) error {
	switch {
	case failed.After(now):
		return fmt.Errorf("%w: %w: %s is in the future: the SQL server's clock says %s", ErrRequest, ErrFailureTime, failed.UTC().Format(time.RFC3339Nano), now.Format(time.RFC3339Nano))
	case d.Retention > 0 && failed.Before(now.Add(-d.Retention)):
		return fmt.Errorf("%w: %s is more than %v ago, and what is needed to restore from is kept for no longer", ErrFailureTime, failed.UTC().Format(time.RFC3339Nano), d.Retention)
	}
	return nil
}

func (s *Sessions) add(tx *database.Tx, d Description, program string, r Request, failed time.Time, epoch int64, v *Session) error {
	n, err := tx.Exec(s.sql.addSession, d.Name, d.Digest, d.Configuration, program, r.Who, r.Why, failed.UnixMicro(), len(d.Phases), epoch, r.Rate, cmp.Or(r.Batch, defaultBatch))
	if err != nil {
		return err
	}
	if n == 0 {
		return database.ErrAgain // another process has begun one
	}
	if *v, _, err = s.read(tx, s.sql.lastSession, d.Name); err != nil {
		return err
	}
	return tx.Run(s.sql.addEvent, v.ID, EventBegun, r.Who, r.Why)
}

// Pause keeps workers from taking more, and the manager from beginning another step, until [Sessions.Resume].
func (s *Sessions) Pause(ctx context.Context, id int64, who, why string) error {
	return s.pause(ctx, id, true, who, why)
}

// Resume ends a pause.
func (s *Sessions) Resume(ctx context.Context, id int64, who, why string) error {
	return s.pause(ctx, id, false, who, why)
}

func (s *Sessions) pause(ctx context.Context, id int64, paused bool, who, why string) error {
	kind, reason := EventResumed, ""
	if paused {
		kind, reason = EventPaused, who+": "+why
	}
	return s.change(ctx, id, who, why, func(tx *database.Tx, _ Session) error {
		if err := tx.Run(s.sql.pauseSession, id, paused, reason); err != nil {
			return err
		}
		return tx.Run(s.sql.addEvent, id, kind, who, why)
	})
}

// Pace changes how many units a second each worker does at most, 0 for no limit, and how many targets it takes at once.
// Workers learn of it with the next targets that they take.
func (s *Sessions) Pace(ctx context.Context, id, rate int64, batch int, who string) error {
	if err := (Request{Who: who, Why: who, Rate: rate, Batch: batch}).check(); err != nil {
		return err
	}
	return s.change(ctx, id, who, "", func(tx *database.Tx, v Session) error {
		return s.pace(tx, &v, rate, cmp.Or(batch, defaultBatch), who)
	})
}

// pace changes how fast a session goes, unless it is that fast already.
func (s *Sessions) pace(tx *database.Tx, v *Session, rate int64, batch int, who string) error {
	if v.Rate == rate && v.Batch == batch {
		return nil
	}
	v.Rate, v.Batch = rate, batch
	if err := tx.Run(s.sql.paceSession, v.ID, rate, batch); err != nil {
		return err
	}
	return tx.Run(s.sql.addEvent, v.ID, EventPaced, who, fmt.Sprintf("%d units a second and worker, %d targets in a batch", rate, batch))
}

// change changes a live session for an operator. It stays as it was read until it is changed.
func (s *Sessions) change(ctx context.Context, id int64, who, why string, work func(*database.Tx, Session) error) error {
	if who == "" {
		return fmt.Errorf("%w: say who wants it", ErrRequest)
	}
	if err := checkWords(who, why); err != nil {
		return err
	}
	return s.db.Change(ctx, func(tx *database.Tx) error {
		v, found, err := s.read(tx, s.sql.lockSession, id)
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("%w with the number %d", ErrNone, id)
		case v.State.Over() || v.State == Cancelling:
			return fmt.Errorf("%w: session %d is %s", ErrOver, id, v.State)
		}
		return work(tx, v)
	})
}

// cancel begins to cancel a session.
func (s *Sessions) cancel(ctx context.Context, id int64, who, why string) error {
	return s.change(ctx, id, who, why, func(tx *database.Tx, _ Session) error {
		n, err := tx.Exec(s.sql.cancelSession, id, who+": "+why)
		if err := only(n, err, fmt.Errorf("%w: session %d is about to open the gate: wait for its end", ErrOver, id)); err != nil {
			return err
		}
		return tx.Run(s.sql.addEvent, id, EventCancelled, who, why)
	})
}
