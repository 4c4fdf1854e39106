package restore

import (
	"context"

	"github.com/reprise-dev/reprise/internal/database"
)

// beginning and ending note when a phase began and ended, together with a step.
func (l *lead) beginning(v Session, phase int) func(*database.Tx) error {
	return func(tx *database.Tx) error { return tx.Run(l.sql.beginPhase, v.ID, phase) }
}

func (l *lead) ending(v Session, phase int) func(*database.Tx) error {
	return func(tx *database.Tx) error { return tx.Run(l.sql.endPhase, v.ID, phase) }
}

// again goes from correction to the next round of verification, of the targets in which something was found.
func (l *lead) again(ctx context.Context, v Session) error {
	return l.step(ctx, v, next{state: Verifying, phase: v.Phase, round: v.Round + 1, raise: true}, func(tx *database.Tx) error {
		return tx.Run(l.sql.againTargets, v.ID, v.verification())
	})
}

// stop pauses the session for a person to look. What was found or failed is verified again when it is resumed.
func (l *lead) stop(ctx context.Context, v Session, why string) error {
	return l.step(ctx, v, next{state: Verifying, phase: v.Phase, round: v.Round + 1, raise: true}, func(tx *database.Tx) error {
		if err := tx.Run(l.sql.againTargets, v.ID, v.verification()); err != nil {
			return err
		}
		if err := tx.Run(l.sql.pauseSession, v.ID, true, why); err != nil {
			return err
		}
		return tx.Run(l.sql.addEvent, v.ID, EventPaused, l.owner, why)
	})
}

// wrong counts the findings of the session's round that keep the gate closed.
func (s *Sessions) wrong(ctx context.Context, v Session) (n int64, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		n = 0
		all, err := s.outcomes(tx, v)
		for outcome, count := range all {
			if !outcome.settled() {
				n += count
			}
		}
		return err
	})
	return n, err
}
