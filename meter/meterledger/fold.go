package meterledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// FoldOptions say what a fold takes in. The zero value is everything, in batches of 1,000.
type FoldOptions struct {
	// Through is the last day whose rows are taken in; 0 is no limit. Days before it are, too: late rows belong to them.
	Through meter.Day
	// Line is the one whose rows are taken in; empty is all lines.
	Line string
	// Batch is how many rows share a commit; 0 is 1,000.
	Batch int
	// Limit is how many rows are taken in at most; 0 is no limit.
	Limit int64
}

// Folded is what a fold has done.
type Folded struct {
	// Fold is the number with which its rows are stamped; 0 if there were none.
	Fold int64
	Rows int64
}

// lastDay is after every day.
const lastDay = meter.Day(99991231)

// Fold takes rows that no fold has taken in into the daily totals and the monthly snapshots, and stamps each in the
// transaction in which it is counted. So a row is counted once, in whatever order rows were committed, and however often
// folds are interrupted; any number may run at once, and rows that another one holds are left to it. During a restore it is
// refused with [ErrHeld], also between two batches: what was folded until then stays. It goes through the lines once.
func (l *Ledger) Fold(ctx context.Context, o FoldOptions) (f Folded, err error) {
	if o.Through == 0 {
		o.Through = lastDay
	}
	if o.Batch <= 0 {
		o.Batch = 1000
	}
	last := cmp.Or(o.Line, pastAll)
	for from := o.Line; ; {
		size := o.Batch
		if o.Limit > 0 {
			size = int(min(int64(size), o.Limit-f.Rows))
		}
		next, err := l.unfolded(ctx, from, last, o.Through, size)
		if err != nil {
			return f, err
		}
		n, err := l.foldBatch(ctx, &f.Fold, next, o.Through)
		f.Rows += n
		if err != nil {
			return f, err
		}
		if len(next) < size || o.Limit > 0 && f.Rows >= o.Limit {
			return f, l.endFold(ctx, f.Fold)
		}
		if from = next[size-1].Line; n == 0 { // another fold holds all of them, and goes on with the line
			from += "\x01"
		}
	}
}

// unfolded returns up to size events of lines from one to another whose rows no fold has taken in.
func (l *Ledger) unfolded(ctx context.Context, from, to string, through meter.Day, size int) (next []Identity, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var id Identity
		next = next[:0]
		return tx.Each(l.sql.nextUnfolded, []any{from, int64(through), size, to}, []any{&id.Line, &id.Event}, func() error {
			next = append(next, id)
			return nil
		})
	})
	return next, err
}

func (l *Ledger) endFold(ctx context.Context, fold int64) error {
	if fold == 0 {
		return nil
	}
	return l.db.Change(ctx, func(tx *database.Tx) error { return tx.Run(l.sql.endFold, fold) })
}

// foldBatch takes in the rows of some events that no other fold has or holds. The fold gets its number with its first batch.
func (l *Ledger) foldBatch(ctx context.Context, fold *int64, events []Identity, through meter.Day) (n int64, err error) {
	text, err := identities(events)
	if err != nil {
		return 0, err
	}
	number := *fold
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		if err := l.unheld(tx); err != nil {
			return err
		}
		var rows []meter.Row
		if err := l.eachDone(tx, l.sql.takeUnfolded, []any{text}, func(r DoneRow) { rows = append(rows, r.Row) }); err != nil {
			return err
		}
		if n = int64(len(rows)); n == 0 {
			return nil
		}
		if number = *fold; number == 0 {
			if number, err = tx.Insert(l.sql.newFold, int64(through)); err != nil {
				return err
			}
		}
		if err := l.count(tx, rows); err != nil {
			return err
		}
		return l.stampRows(tx, number, rows)
	})
	if err != nil {
		return 0, err
	}
	*fold = number
	return n, nil
}

// stampRows stamps rows, each of which has to be there without a stamp.
func (l *Ledger) stampRows(tx *database.Tx, fold int64, rows []meter.Row) error {
	all := make([]Identity, len(rows))
	for i, r := range rows {
		all[i] = identityOf(r.Event)
	}
	text, err := identities(all)
	if err != nil {
		return err
	}
	stamped, err := tx.Exec(l.sql.stamp, text, fold)
	if err == nil && stamped != int64(len(rows)) {
		err = fmt.Errorf("%w: %d of %d rows could be stamped", database.ErrAgain, stamped, len(rows))
	}
	if err != nil {
		return err
	}
	return tx.Run(l.sql.countFold, fold, stamped)
}

// sumsForm is a total or a snapshot in a batch. Sums are texts, because they may be larger than a number of JSON.
type sumsForm struct {
	Line       string      `json:"l"`
	Day        meter.Day   `json:"d"`
	App        string      `json:"a"`
	Family     string      `json:"f"`
	Month      meter.Month `json:"m"`
	Events     int64       `json:"n"`
	Individual string      `json:"i"`
	Shared     string      `json:"s"`
	QoS        string      `json:"q"`
	Blocked    string      `json:"b"`
	Uncounted  string      `json:"u"`
}

func formOf(s meter.Sums, f sumsForm) sumsForm {
	f.Events = s.Events
	f.Individual, f.Shared, f.QoS = s.Individual.String(), s.Shared.String(), s.QoS.String()
	f.Blocked, f.Uncounted = s.Blocked.String(), s.Uncounted.String()
	return f
}

// changesForm is how many changes of an owner are folded.
type changesForm struct {
	Owner      string           `json:"o"`
	Generation meter.Generation `json:"g"`
	Changes    int64            `json:"n"`
	Highest    int64            `json:"v"`
}

// count raises totals, snapshots and the numbers of folded changes by some rows. Each batch is in the order of its
// keys, so that folds which run at once wait for each other only one way.
func (l *Ledger) count(tx *database.Tx, rows []meter.Row) error {
	folded, err := meter.Fold(rows)
	if err != nil {
		return err
	}
	var totals, snapshots []sumsForm
	for k, sums := range folded.Totals {
		totals = append(totals, formOf(sums, sumsForm{Line: k.Line, Day: k.Day, App: k.App, Family: k.Family, Month: k.Month}))
	}
	for k, sums := range folded.Snapshots {
		snapshots = append(snapshots, formOf(sums, sumsForm{Line: k.Line, Family: k.Family, Month: k.Month}))
	}
	slices.SortFunc(totals, compareSums)
	slices.SortFunc(snapshots, compareSums)
	for _, step := range []struct {
		raise database.Statement
		rows  any
	}{{l.sql.raiseTotals, totals}, {l.sql.raiseSnapshots, snapshots}, {l.sql.raiseFolded, changesIn(rows)}} {
		text, err := database.Batch(step.rows)
		if err != nil {
			return err
		}
		if err := tx.Run(step.raise, text); err != nil {
			return err
		}
	}
	return nil
}

func compareSums(a, b sumsForm) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Month, b.Month), cmp.Compare(a.App, b.App), cmp.Compare(a.Family, b.Family))
}

func changesIn(rows []meter.Row) []changesForm {
	type key struct {
		owner string
		g     meter.Generation
	}
	sums := map[key]changesForm{}
	add := func(owner string, g meter.Generation, version int64) {
		s := sums[key{owner, g}]
		sums[key{owner, g}] = changesForm{owner, g, s.Changes + 1, max(s.Highest, version)}
	}
	for _, r := range rows {
		add(lineTag+r.Event.Line, r.Result.Generation, r.Result.LineVersion)
		if r.Result.FamilyVersion > 0 {
			add(familyTag+r.Result.Family, r.Result.Generation, r.Result.FamilyVersion)
		}
	}
	all := make([]changesForm, 0, len(sums))
	for _, s := range sums {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b changesForm) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Generation, b.Generation))
	})
	return all
}

// FoldRun is a run of a fold.
type FoldRun struct {
	Fold           int64
	Through        meter.Day // the last day whose rows it took in
	Rows           int64
	Started, Ended time.Time // Ended is zero while it is under way, or if it was interrupted
}

// Folds returns the latest runs, the latest first.
func (l *Ledger) Folds(ctx context.Context, limit int) (all []FoldRun, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		var f FoldRun
		var started, ended int64
		all = nil
		return tx.Each(l.sql.folds, []any{limit}, []any{&f.Fold, &f.Through, &f.Rows, &started, &ended}, func() error {
			f.Started, f.Ended = database.Instant(started), database.Instant(ended)
			all = append(all, f)
			return nil
		})
	})
	return all, err
}
