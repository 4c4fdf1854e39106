package meterledger

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Range is a part of the order of units: those from From up to, not at, To. A unit is named by [meter.UnitTag], and
// families come before lines that are in none. Empty is the beginning, or the end. Units that are added later are in the
// range that is there for their name.
type Range struct {
	From, To string
	// Units is how many there were when the range was made.
	Units int
}

// Unit is the range of one unit.
func Unit(tag string) Range { return Range{From: tag, To: tag + "!", Units: 1} } // no id has a character as small

// pastAll is after every id.
const pastAll = "~"

// part returns which ids of a kind are in the range.
func (r Range) part(kind string) (from, to string) {
	cut := func(tag, open string) string {
		id, ok := strings.CutPrefix(tag, kind)
		switch {
		case tag == "":
			return open
		case ok:
			return id
		case tag < kind:
			return ""
		}
		return pastAll
	}
	return cut(r.From, ""), cut(r.To, pastAll)
}

// Ranges divides all units into ranges of a number of units each, which leave out nothing.
func (l *Ledger) Ranges(ctx context.Context, units int) ([]Range, error) {
	return l.RangesFrom(ctx, "", units, math.MaxInt/units-1)
}

// atOnceNamed is how many units are named by one statement.
const atOnceNamed = 10_000

// RangesFrom is [Ledger.Ranges] of the units from one on, at most so many ranges. The next one begins where the last one ends; that of
// the end has no To, and there is always one.
func (l *Ledger) RangesFrom(ctx context.Context, from string, units, most int) (some []Range, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		some = nil
		r, left := Range{From: from}, most*units+1 // one more, at which the last range ends
		for _, kind := range []struct {
			tag  string
			next database.Statement
		}{{familyTag, l.sql.nextFamilies}, {lineTag, l.sql.nextLines}} {
			at, _ := r.part(kind.tag)
			for more, last := true, ""; more && left > 0; at = last {
				asked, got, id := min(left, atOnceNamed)+1, 0, "" // with the last of the page before
				if err := tx.Each(kind.next, []any{at, asked}, []any{&id}, func() error {
					if got++; id == last || left == 0 {
						return nil
					}
					if r.Units == units {
						r.To = kind.tag + id
						some = append(some, r)
						r = Range{From: r.To}
					}
					r.Units, left, last = r.Units+1, left-1, id
					return nil
				}); err != nil {
					return err
				}
				more = got == asked
			}
		}
		if left > 0 {
			some = append(some, r)
		}
		return nil
	})
	return some, err
}

// Horizon is how far back something is read.
type Horizon struct {
	// Months and Day say what counts. Rows are read from the first month on, allowances of these months alone, and daily totals from
	// the day on.
	Months meter.Span
	Day    meter.Day
	// RecordLife is how long after its row an operation's record in Redis lives; 0 leaves records out.
	RecordLife time.Duration
}

// Holdings are all that the ledger holds of some units: what [meter.Rebuild] makes their state in Redis from, and what
// else is in Redis beside it.
type Holdings struct {
	Range  Range
	Source meter.Source
	// Since is when the generation of Source began, by the server's clock.
	Since time.Time
	// Families are the families of the range, those without lines too.
	Families []string
	// Rows are those of Source.Rows, with what else the log says of them.
	Rows []DoneRow
	// Folded are rows that were folded and are younger than an operation's record lives: they have one. So do those of Rows.
	Folded []DoneRow
	// Grants are those of Source.Grants, with what else is known of them. Those since RecordsSince have a record.
	Grants []GrantRow
	// RecordsSince is the age at which records end, by the server's clock.
	RecordsSince time.Time
	// Policies are the global ones, and those of the range's lines.
	Policies Policies
	// Changes are what is held of the lines and families in the generation of Source.
	Changes map[string]Changes
}

// Parts are what is read of units, beside who they are.
type Parts uint8

// The parts. What needs only some of them is read faster.
const (
	PartGrants Parts = 1 << iota
	PartSnapshots
	PartTotals
	PartRows // those that no fold has taken in, and those that were folded lately
	// PartRowTotals is the totals of lines that have rows of PartRows, and of no others, of the days on which there are such rows. There may be
	// some of days between.
	PartRowTotals
	PartPolicies
	PartChanges
	allParts = PartGrants | PartSnapshots | PartTotals | PartRows | PartPolicies | PartChanges
)

// Read returns what the ledger holds of a range, all of it at one moment, with a fixed number of statements.
func (l *Ledger) Read(ctx context.Context, r Range, h Horizon) (held Holdings, err error) {
	return l.ReadParts(ctx, r, h, allParts)
}

// ReadParts is [Ledger.Read] of some parts. The others are empty.
func (l *Ledger) ReadParts(ctx context.Context, r Range, h Horizon, parts Parts) (held Holdings, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		held = Holdings{Range: r, Source: meter.Source{Members: map[string]string{}}}
		return l.read(tx, &held, h, parts)
	})
	return held, err
}

func (l *Ledger) read(tx *database.Tx, held *Holdings, h Horizon, parts Parts) (err error) {
	s := &held.Source
	if s.Generation, _, held.Since, err = l.belief(tx); err != nil {
		return err
	}
	if err := l.readUnits(tx, held); err != nil {
		return err
	}
	lines := keys(s.Members)
	for _, part := range []struct {
		of   Parts
		read func() error
	}{
		{PartGrants, func() error {
			held.Grants, err = l.ownersGrants(tx, lines, held.Families, h.Months)
			s.Grants = grantsOnly(held.Grants)
			return err
		}},
		{PartSnapshots, func() (err error) {
			s.Folded.Snapshots, err = l.snapshotsOf(tx, lines, held.Families, h)
			return err
		}},
		{PartRows, func() error { return l.readRows(tx, held, lines, h) }},
		{PartTotals, func() (err error) {
			s.Folded.Totals, err = l.totalsOf(tx, lines, h)
			return err
		}},
		{PartRowTotals, func() (err error) {
			s.Folded.Totals, err = l.rowTotals(tx, s.Rows, h)
			return err
		}},
		{PartPolicies, func() (err error) {
			held.Policies, err = l.policiesOf(tx, lines)
			return err
		}},
		{PartChanges, func() (err error) {
			held.Changes, err = l.changesOf(tx, s.Generation, lines, held.Families, h.Months)
			return err
		}},
	} {
		if parts&part.of != 0 {
			if err := part.read(); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowTotals reads the totals of the lines of rows, from the first of their days on.
func (l *Ledger) rowTotals(tx *database.Tx, rows []meter.Row, h Horizon) (map[meter.TotalKey]meter.Sums, error) {
	lines, first := map[string]bool{}, meter.Day(math.MaxInt32)
	for _, r := range rows {
		lines[r.Event.Line], first = true, min(first, r.Result.Day)
	}
	h.Day = max(h.Day, first)
	return l.totalsOf(tx, keys(lines), h)
}

func (l *Ledger) readUnits(tx *database.Tx, held *Holdings) error {
	lineFrom, lineTo := held.Range.part(lineTag)
	familyFrom, familyTo := held.Range.part(familyTag)
	var line, family string
	if err := tx.Each(l.sql.membersIn, []any{lineFrom, lineTo, familyFrom, familyTo}, []any{&line, &family}, func() error {
		held.Source.Members[line] = family
		return nil
	}); err != nil {
		return err
	}
	return tx.Each(l.sql.familiesIn, []any{familyFrom, familyTo}, []any{&family}, func() error {
		held.Families = append(held.Families, family)
		return nil
	})
}

// totalsOf reads the totals of lines.
func (l *Ledger) totalsOf(tx *database.Tx, lines []string, h Horizon) (map[meter.TotalKey]meter.Sums, error) {
	totals := map[meter.TotalKey]meter.Sums{}
	text, err := database.IDs(lines)
	if err != nil || len(lines) == 0 {
		return totals, err
	}
	return totals, l.eachTotal(tx, l.sql.lineTotals, []any{text, int64(h.Day)}, func(k meter.TotalKey, s meter.Sums) { totals[k] = s })
}

// snapshotsOf reads the snapshots of lines, and of whoever took from families.
func (l *Ledger) snapshotsOf(tx *database.Tx, lines, families []string, h Horizon) (map[meter.SnapshotKey]meter.Sums, error) {
	snapshots := map[meter.SnapshotKey]meter.Sums{}
	keep := func(k meter.SnapshotKey, s meter.Sums) { snapshots[k] = s }
	for _, owners := range []struct {
		ids  []string
		read database.Statement
	}{{lines, l.sql.lineSnapshots}, {families, l.sql.familySnapshots}} {
		text, err := database.IDs(owners.ids)
		if err != nil {
			return snapshots, err
		}
		if err := l.eachSnapshot(tx, owners.read, []any{text, int64(h.Months.First)}, keep); err != nil {
			return snapshots, err
		}
	}
	return snapshots, nil
}

func (l *Ledger) readRows(tx *database.Tx, held *Holdings, lines []string, h Horizon) error {
	text, err := database.IDs(lines)
	if err != nil {
		return err
	}
	if err := l.eachDone(tx, l.sql.unfolded, []any{text, int64(h.Months.First)}, func(r DoneRow) {
		held.Rows = append(held.Rows, r)
		held.Source.Rows = append(held.Source.Rows, r.Row)
	}); err != nil {
		return err
	}
	now, err := l.db.NowIn(tx)
	if err != nil || h.RecordLife <= 0 {
		return err
	}
	held.RecordsSince = now.Add(-h.RecordLife)
	return l.eachDone(tx, l.sql.recent, []any{text, held.RecordsSince.UnixMicro()}, func(r DoneRow) { held.Folded = append(held.Folded, r) })
}
