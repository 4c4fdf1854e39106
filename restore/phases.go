package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// Phase says how far a phase is.
type Phase struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	// Expected is how many units the plan counted, and Units how many its targets have.
	Expected int64 `json:"expected"`
	Units    int64 `json:"units"`
	// Targets is how many there are, and Complete says that they are all.
	Targets    int64     `json:"targets"`
	Complete   bool      `json:"complete"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// Pending, Processing, Retryable, Done and Failed are targets.
	Pending      int64 `json:"pending"`
	Processing   int64 `json:"processing"`
	Retryable    int64 `json:"retryable"`
	Done         int64 `json:"done"`
	Failed       int64 `json:"failed"`
	UnitsDone    int64 `json:"units_done"`
	UnitsSkipped int64 `json:"units_skipped"`
	UnitsFailed  int64 `json:"units_failed"`
	// Found is how many findings there are.
	Found   int64 `json:"found"`
	recent  int64 // units of the last moments
	listed  string
	present int64 // targets that are there
}

// open is how many targets are neither done nor failed.
func (p Phase) open() int64 { return p.Pending + p.Processing + p.Retryable }

// phases returns the phases of a session that are listed, with the counts of their targets.
func (s *Sessions) phases(tx *database.Tx, v Session, recent time.Duration) (all []Phase, err error) {
	var p Phase
	var started, finished int64
	err = tx.Each(s.sql.phases, []any{v.ID}, []any{&p.Number, &p.Name, &p.Expected, &p.listed, &p.Complete, &p.Targets, &p.Units, &started, &finished}, func() error {
		p.StartedAt, p.FinishedAt = database.Instant(started), database.Instant(finished)
		all = append(all, p)
		return nil
	})
	for i := range all {
		if err != nil {
			return nil, err
		}
		err = s.count(tx, v, &all[i], recent)
	}
	return all, err
}

func (s *Sessions) count(tx *database.Tx, v Session, p *Phase, recent time.Duration) error {
	var units int64
	return tx.One(s.sql.countTargets, []any{v.ID, p.Number, v.Generation, recent.Microseconds()},
		&p.present, &p.Pending, &p.Processing, &p.Retryable, &p.Done, &p.Failed, &units, &p.UnitsDone, &p.UnitsSkipped, &p.UnitsFailed, &p.Found, &p.recent)
}

// phase returns one of them.
func (s *Sessions) phase(ctx context.Context, v Session, number int) (p Phase, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		all, err := s.phases(tx, v, 0)
		if err != nil {
			return err
		}
		for _, one := range all {
			if one.Number == number {
				p = one
				return nil
			}
		}
		return fmt.Errorf("%w: phase %d of session %d is not listed", ErrIncomplete, number, v.ID)
	})
	return p, err
}

// complete says why a phase is not complete: all that the plan counted is there, and done under the session's generation, or
// failed for good.
func (p Phase) complete() error {
	switch {
	case !p.Complete:
		return fmt.Errorf("%w: the targets of phase %s are not all listed", ErrIncomplete, p.Name)
	case p.present != p.Targets:
		return fmt.Errorf("%w: phase %s has %d targets, and %d are there: somebody has changed the table", ErrIncomplete, p.Name, p.Targets, p.present)
	case p.Units < p.Expected:
		return fmt.Errorf("%w: phase %s has %d units, and its targets %d", ErrIncomplete, p.Name, p.Expected, p.Units)
	case p.Done+p.Failed != p.Targets:
		return fmt.Errorf("%w: of %d targets of phase %s %d are done and %d failed", ErrIncomplete, p.Targets, p.Name, p.Done, p.Failed)
	case p.Failed == 0 && p.UnitsDone+p.UnitsSkipped < p.Expected: // else what is missing is quarantined
		return fmt.Errorf("%w: of %d units of phase %s %d are done and %d skipped", ErrIncomplete, p.Expected, p.Name, p.UnitsDone, p.UnitsSkipped)
	}
	return nil
}

// worked reports whether no target of a phase waits or is being done.
func (s *Sessions) worked(ctx context.Context, v Session) (bool, error) {
	var open int64
	err := s.db.Look(ctx, func(tx *database.Tx) error { return tx.One(s.sql.openTargets, []any{v.ID, v.step()}, &open) })
	return err == nil && open == 0, err
}

// expect notes how many units a phase has.
func (l *lead) expect(ctx context.Context, v Session, phase int, name string, units int64) error {
	_, err := l.db.Do(ctx, l.sql.putPhase, v.ID, phase, name, units)
	return err
}

// targetForm is a target in a batch.
type targetForm struct {
	From     string `json:"f"`
	To       string `json:"t"`
	Units    int64  `json:"u"`
	Priority int64  `json:"p"`
	Attempts int    `json:"a"`
}

// list adds targets to a phase that was listed up to p.listed. Another one that did it meanwhile is [ErrLeaseLost].
func (l *lead) list(ctx context.Context, v Session, p *Phase, targets []Target, last bool) error {
	to, units := p.listed, int64(0)
	for _, t := range targets {
		to, units = t.To, units+t.Units
	}
	err := l.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(l.sql.listPhase, v.ID, p.Number, p.listed, to, last, len(targets), units, l.token, v.Epoch)
		if err := only(n, err, l.lost()); err != nil {
			return err
		}
		return l.put(tx, v.ID, p.Number, targets, 0)
	})
	if err == nil {
		p.listed, p.Complete, p.Units, p.Targets = to, last, p.Units+units, p.Targets+int64(len(targets))
	}
	return err
}

// put adds targets, which have to be new, and have had so many attempts.
func (s *Sessions) put(tx *database.Tx, session int64, phase int, targets []Target, attempts int) error {
	if len(targets) == 0 {
		return nil
	}
	forms := make([]targetForm, len(targets))
	for i, t := range targets {
		forms[i] = targetForm{t.From, t.To, t.Units, t.Priority, attempts}
	}
	text, err := database.Batch(forms)
	if err != nil {
		return err
	}
	n, err := tx.Exec(s.sql.putTargets, session, phase, text)
	if err == nil && n != int64(len(targets)) {
		err = fmt.Errorf("%w: of %d targets after %q some are there already: the plan lists them twice", ErrIncomplete, len(targets), targets[0].From)
	}
	return err
}
