package meterledger

import (
	"context"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// GrantRow is a grant as it stands in the ledger.
type GrantRow struct {
	meter.Grant
	MadeAt time.Time
	// Generation and Version are those of the change that the grant made in Redis; empty until it is confirmed. Version 0
	// says that no change was made: hydration had counted the grant already.
	Generation meter.Generation
	Version    int64
}

// Confirmed reports whether the grant is known to be in Redis.
func (g GrantRow) Confirmed() bool { return g.Generation != "" }

// AddGrant adds a grant under a lock of its owner and reports whether it was there already. What [meter.CheckGrant] does
// not allow is its [*meter.Refusal]; an owner that is not there is [ErrUnknown], and another grant of this id [ErrConflict].
func (l *Ledger) AddGrant(ctx context.Context, g meter.Grant) (already bool, err error) {
	if err := g.Validate(); err != nil {
		return false, err
	}
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		already = false
		if err := l.lockOwner(tx, g); err != nil {
			return err
		}
		before, err := l.grantOf(tx, g.ID)
		if err != nil {
			return err
		}
		if len(before) > 0 {
			if already = before[0].Grant == g; !already {
				return conflict("grant %s is there, and is another: choose a new id", g.ID)
			}
			return l.durably(tx)
		}
		others, err := l.grantsOf(tx, l.sql.ownerGrants, g.Line, g.Family, int64(g.Month))
		if err != nil {
			return err
		}
		if err := meter.CheckGrant(grantsOnly(others), g); err != nil {
			return err
		}
		added, err := l.insertGrants(tx, []meter.Grant{g})
		if err == nil && added == 0 {
			err = database.ErrAgain // another owner got a grant of this id
		}
		return err
	})
	return already, err
}

func grantsOnly(rows []GrantRow) []meter.Grant {
	grants := make([]meter.Grant, len(rows))
	for i, r := range rows {
		grants[i] = r.Grant
	}
	return grants
}

// lockOwner keeps others from making grants to an owner.
func (l *Ledger) lockOwner(tx *database.Tx, g meter.Grant) error {
	lock, what, id := l.sql.lockLine, "line", g.Line
	if g.Family != "" {
		lock, what, id = l.sql.lockFamily, "family", g.Family
	}
	var found string
	if err := tx.One(lock, []any{id}, &found); err != nil {
		return err
	}
	if found == "" {
		return unknown(what, id)
	}
	return nil
}

// grantForm is a grant in a batch.
type grantForm struct {
	ID         string      `json:"k"`
	Kind       string      `json:"n"`
	Line       string      `json:"l"`
	Family     string      `json:"f"`
	Month      meter.Month `json:"m"`
	Individual int64       `json:"i"`
	QoS        int64       `json:"q"`
	Shared     int64       `json:"s"`
}

func (l *Ledger) insertGrants(tx *database.Tx, grants []meter.Grant) (int64, error) {
	if len(grants) == 0 {
		return 0, nil
	}
	forms := make([]grantForm, len(grants))
	for i, g := range grants {
		forms[i] = grantForm{g.ID, g.Kind.String(), g.Line, g.Family, g.Month, g.Individual, g.QoS, g.Shared}
	}
	text, err := database.Batch(forms)
	if err != nil {
		return 0, err
	}
	return tx.Exec(l.sql.addGrants, text)
}

func (l *Ledger) grantOf(tx *database.Tx, id string) ([]GrantRow, error) {
	return l.grantsOf(tx, l.sql.grant, id)
}

// Grant returns a grant by its id. One that is not there is [ErrUnknown].
func (l *Ledger) Grant(ctx context.Context, id string) (g GrantRow, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		rows, err := l.grantOf(tx, id)
		if err == nil && len(rows) == 0 {
			err = unknown("grant", id)
		}
		if err == nil {
			g = rows[0]
		}
		return err
	})
	return g, err
}

// grantsOf reads the grants that a statement returns.
func (l *Ledger) grantsOf(tx *database.Tx, s database.Statement, arguments ...any) (all []GrantRow, err error) {
	var g GrantRow
	var kind string
	var made int64
	return all, tx.Each(s, arguments, []any{
		&g.ID, &kind, &g.Line, &g.Family, &g.Month, &g.Individual, &g.QoS, &g.Shared, &made, &g.Generation, &g.Version,
	}, func() (err error) {
		if g.Kind, err = meter.ParseGrantKind(kind); err != nil {
			return unreadable("grant "+g.ID+" in meter_grants", err)
		}
		g.MadeAt = database.Instant(made)
		all = append(all, g)
		return nil
	})
}

// Confirmation says which change a grant made in Redis.
type Confirmation struct {
	Grant string
	// Version is the owner's after the change; 0 if hydration had counted the grant already.
	Version int64
}

// ConfirmGrants notes the changes that grants made in a generation. A grant that was confirmed before stays as it was: a
// restored Redis replays it under its own generation. The same generation with another version is [ErrConflict], a
// generation that is not the current one [ErrOldGeneration], and a grant that is not there [ErrUnknown]; none is noted then.
// They may be any number: those of some units are as many as there were top-ups.
func (l *Ledger) ConfirmGrants(ctx context.Context, g meter.Generation, all []Confirmation) error {
	if len(all) == 0 {
		return nil
	}
	return l.db.Change(ctx, func(tx *database.Tx) error {
		if _, err := l.believe(tx, g); err != nil {
			return err
		}
		for part := range slices.Chunk(all, MaxBatch) { // a message has its limit
			if err := l.confirmGrants(tx, g, part); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *Ledger) confirmGrants(tx *database.Tx, g meter.Generation, all []Confirmation) error {
	type form struct {
		ID      string `json:"k"`
		Version int64  `json:"v"`
	}
	forms, names := make([]form, len(all)), make([]string, len(all))
	for i, c := range all {
		forms[i], names[i] = form{c.Grant, c.Version}, c.Grant
	}
	text, err := database.Batch(forms)
	if err != nil {
		return err
	}
	wanted, err := database.IDs(names)
	if err != nil {
		return err
	}
	if err := tx.Run(l.sql.confirmGrants, text, string(g)); err != nil {
		return err
	}
	rows, err := l.grantsOf(tx, l.sql.grantsByID, wanted)
	if err != nil {
		return err
	}
	there := make(map[string]GrantRow, len(rows))
	for _, row := range rows {
		there[row.ID] = row
	}
	for _, c := range all {
		row, ok := there[c.Grant]
		if !ok {
			return unknown("grant", c.Grant)
		}
		if row.Generation == g && row.Version != c.Version {
			return conflict("grant %s made change %d in this generation, and not %d: hydrate its unit again", c.Grant, row.Version, c.Version)
		}
	}
	return nil
}

// Confirmed returns which of some grants are known to be in Redis.
func (l *Ledger) Confirmed(ctx context.Context, ids []string) (map[string]bool, error) {
	wanted, err := database.IDs(ids)
	if err != nil {
		return nil, err
	}
	confirmed := map[string]bool{}
	return confirmed, l.db.Look(ctx, func(tx *database.Tx) error {
		clear(confirmed)
		rows, err := l.grantsOf(tx, l.sql.grantsByID, wanted)
		for _, row := range rows {
			confirmed[row.ID] = row.Confirmed()
		}
		return err
	})
}

// UnconfirmedGrants returns grants of a month that are not known to be in Redis, in the order of their ids, from the one after a given
// id on: "" is the beginning. Fewer than limit are the last.
func (l *Ledger) UnconfirmedGrants(ctx context.Context, month meter.Month, after string, limit int) (all []GrantRow, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		all, err = l.grantsOf(tx, l.sql.unconfirmed, int64(month), after, limit)
		return err
	})
	return all, err
}
