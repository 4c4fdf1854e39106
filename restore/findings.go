package restore

import (
	"context"
	"slices"

	"github.com/reprise-dev/reprise/internal/database"
)

type findingForm struct {
	Kind    string  `json:"k"`
	Item    string  `json:"i"`
	Outcome Outcome `json:"o"`
	Detail  string  `json:"d"`
}

func findingsForm(all []Finding) (string, error) {
	forms := make([]findingForm, len(all))
	for i, f := range all {
		forms[i] = findingForm{f.Kind, f.Item, f.Outcome, f.Detail}
	}
	return database.Batch(forms)
}

// Findings returns what verification has found, in all rounds, after a finding, 0 for all, at most limit of it. What was corrected
// says so.
func (s *Sessions) Findings(ctx context.Context, session, after int64, limit int) ([]Finding, error) {
	return s.found(ctx, s.sql.findings, session, after, limit)
}

// find adds findings of no target that is listed, to the session's round.
func (s *Sessions) find(ctx context.Context, v Session, found []Finding) error {
	form, err := findingsForm(found)
	if err != nil {
		return err
	}
	return s.db.Change(ctx, func(tx *database.Tx) error { return tx.Run(s.sql.putFindings, v.ID, v.Round, 0, form) })
}

// unsettled returns findings of the session's round that nobody has judged yet.
func (s *Sessions) unsettled(ctx context.Context, v Session, after int64, limit int) ([]Finding, error) {
	return s.found(ctx, s.sql.openFindings, v.ID, v.Round, after, limit)
}

func (s *Sessions) found(ctx context.Context, q database.Statement, arguments ...any) (all []Finding, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		all = nil
		var f Finding
		var round int
		return tx.Each(q, arguments, []any{&f.ID, &round, &f.Kind, &f.Item, &f.Outcome, &f.Detail}, func() error {
			all = append(all, f)
			return nil
		})
	})
	return all, err
}

// settle notes what became of a finding.
func (s *Sessions) settle(ctx context.Context, f Finding, c Correction) error {
	if c.Detail == "" {
		c.Detail = f.Detail
	}
	_, err := s.db.Do(ctx, s.sql.settleFinding, f.ID, string(c.Outcome), c.Detail)
	return err
}

// keep keeps what the correction of a finding is about to replace. Nothing is replaced before that is in SQL: a process that dies in
// between has lost nothing.
func (s *Sessions) keep(f Finding) Keep {
	own := false
	return func(ctx context.Context, old []byte) error {
		n, err := s.db.Do(ctx, s.sql.keepFinding, f.ID, old, own)
		own = own || n > 0
		return err
	}
}

// kept is a correction that can be undone.
type kept struct {
	Finding
	old []byte
}

// corrections returns those of a session that can be undone and were not, the last first, before a number.
func (s *Sessions) corrections(ctx context.Context, session, before int64, limit int) (all []kept, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		all = nil
		var k kept
		return tx.Each(s.sql.corrections, []any{session, before, limit}, []any{&k.ID, &k.Kind, &k.Item, &k.Outcome, &k.Detail, &k.old}, func() error {
			all = append(all, kept{k.Finding, slices.Clone(k.old)})
			return nil
		})
	})
	return all, err
}

// undone notes what became of a correction.
func (s *Sessions) undone(ctx context.Context, f Finding, c Correction) error {
	_, err := s.db.Do(ctx, s.sql.undoFinding, f.ID, string(c.Outcome), c.Detail)
	return err
}

// outcomes counts the findings of the session's round.
func (s *Sessions) outcomes(tx *database.Tx, v Session) (all map[Outcome]int64, err error) {
	all = map[Outcome]int64{}
	var o Outcome
	var n int64
	return all, tx.Each(s.sql.countFindings, []any{v.ID, v.Round}, []any{&o, &n}, func() error {
		all[o] = n
		return nil
	})
}

// Quarantine is a target that could not be restored.
type Quarantine struct {
	Target
	ID       int64
	Phase    int
	Attempts int
	Reason   string
}

// Quarantined returns targets that could not be restored, after one, 0 for all, at most limit.
func (s *Sessions) Quarantined(ctx context.Context, session, after int64, limit int) (all []Quarantine, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		all = nil
		var q Quarantine
		return tx.Each(s.sql.failedTargets, []any{session, after, limit}, []any{&q.ID, &q.Phase, &q.From, &q.To, &q.Units, &q.Priority, &q.Attempts, &q.Reason}, func() error {
			all = append(all, q)
			return nil
		})
	})
	return all, err
}
