package meterledger

import (
	"context"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// monthBatch is how many owners have a month opened in one commit.
const monthBatch = 1000

// OpenMonth makes the monthly grant of a month to each line and family that has none yet, from its plan, and returns how
// many it made. It goes on where another call ended, and may run beside others. Who has its grant is looked at, and neither read nor locked: it is
// called again and again.
func (l *Ledger) OpenMonth(ctx context.Context, m meter.Month) (made int64, err error) {
	if !m.Valid() {
		return 0, refusal(meter.BadGrant, "month", "%v is not a month: write yyyyMM", m)
	}
	// Lines come first: the grant of a family opens the month for all of them.
	for _, owners := range []struct{ missing, lock database.Statement }{{l.sql.missingLines, l.sql.lockLines}, {l.sql.missingFamilies, l.sql.lockFamilies}} {
		for after, more := "", true; more; {
			ids, err := l.withoutMonth(ctx, owners.missing, after, m)
			n := int64(0)
			if err == nil && len(ids) > 0 {
				n, err = l.openFor(ctx, owners.lock, ids, m)
				after = ids[len(ids)-1]
			}
			if made += n; err != nil {
				return made, err
			}
			more = len(ids) == monthBatch
		}
	}
	return made, nil
}

// withoutMonth returns the owners that come next of those that have no monthly grant of a month.
func (l *Ledger) withoutMonth(ctx context.Context, missing database.Statement, after string, m meter.Month) (ids []string, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var id string
		ids = nil
		return tx.Each(missing, []any{after, monthBatch, int64(m)}, []any{&id}, func() error {
			ids = append(ids, id)
			return nil
		})
	})
	return ids, err
}

// openFor opens a month for owners, under locks of them: another one may be opening it, too.
func (l *Ledger) openFor(ctx context.Context, lock database.Statement, ids []string, m meter.Month) (made int64, err error) {
	text, err := database.IDs(ids)
	if err != nil {
		return 0, err
	}
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		var plans []meter.Grant
		var lines, families []string
		g := meter.Grant{Kind: meter.Monthly, Month: m}
		if err := tx.Each(lock, []any{text}, []any{&g.Line, &g.Family, &g.Individual, &g.QoS, &g.Shared}, func() error {
			g.ID = monthlyID(g)
			plans = append(plans, g)
			if g.Line != "" {
				lines = append(lines, g.Line)
			} else {
				families = append(families, g.Family)
			}
			return nil
		}); err != nil {
			return err
		}
		before, err := l.grantsOfMonth(tx, lines, families, m)
		if err != nil {
			return err
		}
		missing, err := withoutGrant(plans, before)
		if err != nil {
			return err
		}
		made = int64(len(missing))
		return l.makeMonthly(tx, missing)
	})
	return made, err
}

// OpenMonthOf makes the monthly grant of a month to one line, from its plan, unless it has one, and returns the grant's id.
func (l *Ledger) OpenMonthOf(ctx context.Context, line string, m meter.Month) (id string, err error) {
	g := meter.Grant{Kind: meter.Monthly, Line: line, Month: m}
	g.ID = monthlyID(g)
	if err := g.Validate(); err != nil {
		return "", err
	}
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		if err := l.lockOwner(tx, g); err != nil {
			return err
		}
		lines, err := l.linesOf(tx, []string{line})
		if err != nil {
			return err
		}
		g.Individual, g.QoS = lines[line].Individual, lines[line].QoS
		before, err := l.grantsOfMonth(tx, []string{line}, nil, m)
		if err != nil {
			return err
		}
		missing, err := withoutGrant([]meter.Grant{g}, before)
		if err != nil {
			return err
		}
		id = g.ID
		for _, b := range before[meter.UnitTag(line, "")] {
			if b.Kind == meter.Monthly {
				id = b.ID
			}
		}
		return l.makeMonthly(tx, missing)
	})
	return id, err
}

// makeMonthly adds monthly grants, none of which is there.
func (l *Ledger) makeMonthly(tx *database.Tx, missing []meter.Grant) error {
	made, err := l.insertGrants(tx, missing)
	if err == nil && made != int64(len(missing)) {
		err = conflict("grants are there under ids that begin with %q and are to others: look at meter_grants", monthlyPrefix)
	}
	return err
}

// monthlyPrefix begins the ids of monthly grants, which month and owner follow.
const monthlyPrefix = "monthly:"

func monthlyID(g meter.Grant) string {
	return monthlyPrefix + g.Month.String() + ":" + meter.UnitTag(g.Line, g.Family)
}

// grantsOfMonth returns the grants of a month by owner.
func (l *Ledger) grantsOfMonth(tx *database.Tx, lines, families []string, m meter.Month) (map[string][]meter.Grant, error) {
	rows, err := l.ownersGrants(tx, lines, families, meter.Span{First: m, Last: m})
	all := map[string][]meter.Grant{}
	for _, r := range rows {
		tag := meter.UnitTag(r.Line, r.Family)
		all[tag] = append(all[tag], r.Grant)
	}
	return all, err
}

// ownersGrants returns the grants of some months to lines and families.
func (l *Ledger) ownersGrants(tx *database.Tx, lines, families []string, months meter.Span) ([]GrantRow, error) {
	from, to := bounds(months)
	lineText, err := database.IDs(lines)
	if err != nil {
		return nil, err
	}
	familyText, err := database.IDs(families)
	if err != nil {
		return nil, err
	}
	theirs, err := l.grantsOf(tx, l.sql.lineGrants, lineText, from, to)
	if err != nil {
		return nil, err
	}
	shared, err := l.grantsOf(tx, l.sql.familyGrants, familyText, from, to)
	return append(theirs, shared...), err
}

// bounds are the months as statements take them.
func bounds(months meter.Span) (first, last int64) {
	if months == (meter.Span{}) {
		return 0, int64(meter.LastMonth)
	}
	return int64(months.First), int64(months.Last)
}

// withoutGrant returns those plans whose owners have no monthly grant yet, each as far as there is room for it.
func withoutGrant(plans []meter.Grant, before map[string][]meter.Grant) (missing []meter.Grant, err error) {
	for _, g := range plans {
		has := false
		theirs := before[meter.UnitTag(g.Line, g.Family)]
		for _, b := range theirs {
			has = has || b.Kind == meter.Monthly
		}
		if has {
			continue
		}
		g = fitting(theirs, g)
		if err := meter.CheckGrant(theirs, g); err != nil {
			return nil, err
		}
		missing = append(missing, g)
	}
	return missing, nil
}

// fitting cuts a grant to what an owner may be granted beside what it has in the month already: one that was topped up ahead keeps no month from
// being opened, for it and for everybody else.
func fitting(before []meter.Grant, g meter.Grant) meter.Grant {
	individual, qos, shared := int64(meter.MaxAmount), int64(meter.MaxAmount), int64(meter.MaxAmount)
	for _, b := range before { // these sum up to no more than there can be
		individual, qos, shared = individual-b.Individual, qos-b.QoS, shared-b.Shared
	}
	g.Individual, g.QoS, g.Shared = min(g.Individual, individual), min(g.QoS, qos), min(g.Shared, shared)
	return g
}
