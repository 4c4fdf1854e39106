package restore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/internal/database"
)

type findingForm struct {
	Kind    string  `json:"k"`
	Item    string  `json:"i"`
	Outcome Outcome `json:"o"`
	Detail  string  `json:"d"`
}

// findingForms are findings in batches, each small enough for a message of every server.
func findingForms(all []Finding) (batches []string, err error) {
	var forms []findingForm
	size := 0
	for i, f := range all {
		form := findingForm{kept(f.Kind), kept(f.Item), f.Outcome, kept(f.Detail)}
		forms, size = append(forms, form), size+len(form.Item)+len(form.Detail)
		if size < longestBatch && len(forms) < mostFindings && i < len(all)-1 {
			continue
		}
		text, err := database.Batch(forms)
		if err != nil {
			return nil, err
		}
		batches, forms, size = append(batches, text), nil, 0
	}
	return batches, nil
}

const (
	mostFindings = 5000
	longestBatch = 1 << 20  // before it is escaped; MariaDB takes 16 MiB
	longestText  = 15 << 10 // before it is quoted; MariaDB takes 64 KiB
)

// kept is a text for people as every server can keep it. What a system holds in which something is found, or of which an error speaks, may be of any
// length, and no text at all. What is not kept as it is is quoted, so that nobody takes it for the name of something else.
func kept(s string) string {
	switch {
	case len(s) > longestText:
		return strconv.Quote(strings.ToValidUTF8(s[:longestText], "")) + "…"
	case !text(s):
		return strconv.Quote(s)
	}
	return s
}

// Findings returns what verification has found, in all rounds, after a finding, 0 for all, at most limit of it. What was corrected
// says so.
func (s *Sessions) Findings(ctx context.Context, session, after int64, limit int) ([]Finding, error) {
	return s.found(ctx, s.sql.findings, session, after, limit)
}

// find adds findings of no target that is listed, to the session's round.
func (s *Sessions) find(ctx context.Context, v Session, found []Finding) error {
	return s.db.Change(ctx, func(tx *database.Tx) error { return s.putFound(tx, v, 0, found) })
}

func (s *Sessions) putFound(tx *database.Tx, v Session, target int64, found []Finding) error {
	batches, err := findingForms(found)
	for _, batch := range batches {
		if err = tx.Run(s.sql.putFindings, v.ID, v.Round, target, batch); err != nil {
			return err
		}
	}
	return err
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
	_, err := s.db.Do(ctx, s.sql.settleFinding, f.ID, string(c.Outcome), kept(c.Detail))
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

// undoable is a correction that can be undone.
type undoable struct {
	Finding
	old []byte
}

// corrections returns those of a session that can be undone and were not, the last first, before a number.
func (s *Sessions) corrections(ctx context.Context, session, before int64, limit int) (all []undoable, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		all = nil
		var k undoable
		return tx.Each(s.sql.corrections, []any{session, before, limit}, []any{&k.ID, &k.Kind, &k.Item, &k.Outcome, &k.Detail, &k.old}, func() error {
			all = append(all, undoable{k.Finding, slices.Clone(k.old)})
			return nil
		})
	})
	return all, err
}

// undone notes what became of a correction.
func (s *Sessions) undone(ctx context.Context, f Finding, c Correction) error {
	_, err := s.db.Do(ctx, s.sql.undoFinding, f.ID, string(c.Outcome), kept(c.Detail))
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
