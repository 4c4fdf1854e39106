package meterledger

import (
	"context"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Line is a line, the family that it is in, and its plan: what it is granted every month.
type Line struct {
	ID     string
	Family string // empty for none
	// Individual and QoS are bytes a month.
	Individual, QoS int64
}

// Family is a family and its plan.
type Family struct {
	ID string
	// Shared is bytes a month.
	Shared int64
}

// Import adds families, lines and apps, and sets the plans of those that are there. A plan counts from the next month that
// is opened. Families come first, so a line may be in one of the same call. A line that is in another family stays
// there: that is [ErrConflict], and a family that is not there [ErrUnknown]; nothing was imported then.
func (l *Ledger) Import(ctx context.Context, families []Family, lines []Line, apps []string) error {
	if err := checkImport(families, lines, apps); err != nil {
		return err
	}
	return l.db.Change(ctx, func(tx *database.Tx) error {
		for part := range slices.Chunk(families, MaxBatch) { // a message has its limit
			if err := l.putFamilies(tx, part); err != nil {
				return err
			}
		}
		for part := range slices.Chunk(lines, MaxBatch) {
			if err := l.putLines(tx, part); err != nil {
				return err
			}
		}
		text, err := database.IDs(apps)
		if err != nil || len(apps) == 0 {
			return err
		}
		return tx.Run(l.sql.putApps, text)
	})
}

func checkImport(families []Family, lines []Line, apps []string) error {
	for _, f := range families {
		if !meter.ValidID(f.ID) {
			return badID("family_id", f.ID)
		}
		if f.Shared < 0 {
			return refusal(meter.BadGrant, "shared", "the plan of family %s is negative: write 0 or more", f.ID)
		}
	}
	for _, line := range lines {
		if !meter.ValidID(line.ID) {
			return badID("line_id", line.ID)
		}
		if line.Family != "" && !meter.ValidID(line.Family) {
			return badID("family_id", line.Family)
		}
		if line.Individual < 0 || line.QoS < 0 {
			return refusal(meter.BadGrant, "", "the plan of line %s is negative: write 0 or more", line.ID)
		}
	}
	for _, app := range apps {
		if !meter.ValidID(app) {
			return badID("app_id", app)
		}
	}
	return nil
}

func badID(field, id string) error {
	return refusal(meter.BadID, field, "%q: write 1 to %d of A-Z a-z 0-9 . _ - + @", id[:min(len(id), meter.MaxID)], meter.MaxID)
}

// planForm is a line or a family in a batch.
type planForm struct {
	ID         string `json:"k"`
	Family     string `json:"f,omitempty"`
	Individual int64  `json:"i"`
	QoS        int64  `json:"q"`
	Shared     int64  `json:"s"`
}

func (l *Ledger) putFamilies(tx *database.Tx, families []Family) error {
	forms := make([]planForm, len(families))
	for i, f := range families {
		forms[i] = planForm{ID: f.ID, Shared: f.Shared}
	}
	text, err := database.Batch(forms)
	if err != nil || len(forms) == 0 {
		return err
	}
	return tx.Run(l.sql.putFamilies, text)
}

func (l *Ledger) putLines(tx *database.Tx, lines []Line) error {
	forms := make([]planForm, len(lines))
	wanted := make([]string, len(lines))
	families := map[string]bool{}
	for i, line := range lines {
		forms[i] = planForm{ID: line.ID, Family: line.Family, Individual: line.Individual, QoS: line.QoS}
		wanted[i] = line.ID
		if line.Family != "" {
			families[line.Family] = true
		}
	}
	text, err := database.Batch(forms)
	if err != nil || len(forms) == 0 {
		return err
	}
	known, err := l.familiesOf(tx, keys(families))
	if err != nil {
		return err
	}
	for family := range families {
		if _, ok := known[family]; !ok {
			return unknown("family", family)
		}
	}
	if err := tx.Run(l.sql.putLines, text); err != nil {
		return err
	}
	if err := tx.Run(l.sql.putMembers, text); err != nil {
		return err
	}
	there, err := l.linesOf(tx, wanted)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if is := there[line.ID].Family; is != line.Family {
			return conflict("line %s is in family %q, and not in %q: move it", line.ID, is, line.Family)
		}
	}
	return nil
}

func keys[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	return all
}

// idsIn are those of some texts that can be ids, as statements take them. Whoever asks may have them from the name of a key or from a request;
// what is no id is not there, and not every server would say that of each: PostgreSQL has no text with a NUL.
func idsIn(texts []string) (string, error) {
	ids := make([]string, 0, len(texts))
	for _, text := range texts {
		if meter.ValidID(text) {
			ids = append(ids, text)
		}
	}
	return database.IDs(ids)
}

// Lines returns those lines that are in the ledger, with the families that they are in now.
func (l *Ledger) Lines(ctx context.Context, lines []string) (found map[string]Line, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		found, err = l.linesOf(tx, lines)
		return err
	})
	return found, err
}

func (l *Ledger) linesOf(tx *database.Tx, lines []string) (map[string]Line, error) {
	text, err := idsIn(lines)
	if err != nil {
		return nil, err
	}
	var line Line
	found := map[string]Line{}
	return found, tx.Each(l.sql.lines, []any{text}, []any{&line.ID, &line.Family, &line.Individual, &line.QoS}, func() error {
		found[line.ID] = line
		return nil
	})
}

// Families returns those families that are in the ledger.
func (l *Ledger) Families(ctx context.Context, families []string) (found map[string]Family, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		found, err = l.familiesOf(tx, families)
		return err
	})
	return found, err
}

func (l *Ledger) familiesOf(tx *database.Tx, families []string) (map[string]Family, error) {
	text, err := idsIn(families)
	if err != nil {
		return nil, err
	}
	var f Family
	found := map[string]Family{}
	return found, tx.Each(l.sql.families, []any{text}, []any{&f.ID, &f.Shared}, func() error {
		found[f.ID] = f
		return nil
	})
}

// Apps returns all apps.
func (l *Ledger) Apps(ctx context.Context) (apps []string, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var app string
		apps = nil
		return tx.Each(l.sql.apps, nil, []any{&app}, func() error {
			apps = append(apps, app)
			return nil
		})
	})
	return apps, err
}

// Counts is how much there is.
type Counts struct {
	Lines, Families, Apps int64
	// LoneLines are in no family. With the families they are the units.
	LoneLines int64
	// Unconfirmed are grants that are not known to be in Redis, and Inbox events that are not known to be done.
	Unconfirmed, Inbox int64
}

// Counts counts. That takes as long as there are lines.
func (l *Ledger) Counts(ctx context.Context) (c Counts, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		return tx.One(l.sql.counts, nil, &c.Lines, &c.Families, &c.Apps, &c.LoneLines, &c.Unconfirmed, &c.Inbox)
	})
	return c, err
}

// Membership is a time that a line was in a family, or in none.
type Membership struct {
	Family string
	From   time.Time
	Until  time.Time // zero if it still is
}

// History returns the families that a line was in, in order.
func (l *Ledger) History(ctx context.Context, line string) (all []Membership, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var m Membership
		var from, until int64
		all = nil
		return tx.Each(l.sql.history, []any{line}, []any{&m.Family, &from, &until}, func() error {
			m.From, m.Until = database.Instant(from), database.Instant(until)
			all = append(all, m)
			return nil
		})
	})
	return all, err
}
