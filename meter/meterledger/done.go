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

// MaxBatch is how many rows, events or ids an operation takes at once: as many of the longest ones as fit into a message of
// 16 MiB, which is what servers take if nobody tells them otherwise.
const MaxBatch = 10_000

// Identity names an event: its line, and its id among those of the line.
type Identity struct{ Line, Event string }

func identityOf(e meter.Event) Identity { return Identity{e.Line, e.ID} }

func (i Identity) compare(o Identity) int {
	return cmp.Or(cmp.Compare(i.Line, o.Line), cmp.Compare(i.Event, o.Event))
}

// DoneRow is a row of the done log as it stands there.
type DoneRow struct {
	meter.Row
	// RecordedAt is when the server took it in.
	RecordedAt time.Time
	// Fold is the number of the fold that took it into the totals; 0 if none has.
	Fold int64
}

// Outcome says what became of a row that was to be appended.
type Outcome uint8

const (
	// Inserted: it is in the log now.
	Inserted Outcome = iota
	// Already: the same event with the same result was there.
	Already
	// DecidedOtherwise: the same event was there with another result. That one counts, and what Redis did for
	// this one has to be undone there.
	DecidedOtherwise
	// OtherEvent: the line's event of this id was there with other content.
	OtherEvent
	// Purged: it is not there, and rows of its day were purged: nobody knows whether it was. It was not added.
	Purged
)

// String returns the outcome in words.
func (o Outcome) String() string {
	switch o {
	case Inserted:
		return "inserted"
	case Already:
		return "already there"
	case DecidedOtherwise:
		return "decided otherwise"
	case Purged:
		return "purged"
	}
	return "another event"
}

// Appended is what became of a row.
type Appended struct {
	Outcome Outcome
	// Found is the row that was there, if one was.
	Found meter.Row
}

// AppendDone adds rows of a generation to the done log, in one commit, and says of each what became of it. A row that
// cannot have come of a deduction, or that the server does not take, is a [*meter.Refusal], and a generation that is not the current one
// [ErrOldGeneration]: then none was added. The same rows may be appended any number of times, by any number of writers.
func (l *Ledger) AppendDone(ctx context.Context, g meter.Generation, rows []meter.Row) ([]Appended, error) {
	if err := checkRows(g, rows); err != nil || len(rows) == 0 {
		return nil, err
	}
	sorted := inOrder(rows)
	var found map[Identity]DoneRow
	var purged meter.Day
	all := true // at first it is tried as if none were there
	err := l.db.Change(ctx, func(tx *database.Tx) (err error) {
		if purged, err = l.believe(tx, g); err != nil {
			return err
		}
		missing := sorted
		if !all || slices.ContainsFunc(sorted, func(r meter.Row) bool { return r.Result.Day <= purged }) {
			if found, err = l.find(tx, sorted); err != nil {
				return err
			}
			missing = slices.DeleteFunc(slices.Clone(sorted), func(r meter.Row) bool {
				_, ok := found[identityOf(r.Event)]
				return ok || r.Result.Day <= purged
			})
		}
		if len(missing) == 0 {
			return l.durably(tx)
		}
		added, err := l.insertDone(tx, g, missing)
		if err == nil && added != int64(len(missing)) {
			all, err = false, database.ErrAgain // somebody had added some of them
		}
		return err
	})
	if words := l.db.Refusal(err); words != "" {
		return nil, refusal(meter.BadRow, "", "SQL does not take it: %s", words)
	}
	if err != nil {
		return nil, err
	}
	return outcomes(rows, sorted, found, purged), nil
}

func checkRows(g meter.Generation, rows []meter.Row) error {
	if len(rows) > MaxBatch {
		return fmt.Errorf("%d rows at once: at most %d are allowed", len(rows), MaxBatch)
	}
	for _, r := range rows {
		if err := r.Validate(); err != nil {
			return err
		}
		if r.Result.Generation != g {
			return refusal(meter.BadRow, "generation", "event %s of line %s is of generation %q and is appended as one of %q", r.Event.ID, r.Event.Line, r.Result.Generation, g)
		}
	}
	return nil
}

// inOrder returns rows in the order of their identities, the first of each. Two writers whose batches overlap
// then wait for each other only one way.
func inOrder(rows []meter.Row) []meter.Row {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b meter.Row) int { return identityOf(a.Event).compare(identityOf(b.Event)) })
	return slices.CompactFunc(sorted, func(a, b meter.Row) bool { return identityOf(a.Event) == identityOf(b.Event) })
}

// outcomes says of each row what became of it: what was not found was inserted, the first of each identity, unless its day
// was purged.
func outcomes(rows, sorted []meter.Row, found map[Identity]DoneRow, purged meter.Day) []Appended {
	there := make(map[Identity]meter.Row, len(found))
	for id, row := range found {
		there[id] = row.Row
	}
	answers := make([]Appended, len(rows))
	for i, r := range rows {
		id := identityOf(r.Event)
		before, ok := there[id]
		switch {
		case !ok && r.Result.Day <= purged:
			answers[i].Outcome = Purged
		case !ok:
			if len(sorted) < len(rows) { // the second of it finds the first
				there[id] = r
			}
		case before.Event.Digest() != r.Event.Digest():
			answers[i] = Appended{OtherEvent, before}
		case before.Result != r.Result:
			answers[i] = Appended{DecidedOtherwise, before}
		default:
			answers[i] = Appended{Already, before}
		}
	}
	return answers
}

// identityForm is an identity in a batch.
type identityForm struct {
	Line  string `json:"l"`
	Event string `json:"e"`
}

func identities(all []Identity) (string, error) {
	forms := make([]identityForm, len(all))
	for i, id := range all {
		forms[i] = identityForm(id)
	}
	return database.Batch(forms)
}

func (l *Ledger) find(tx *database.Tx, rows []meter.Row) (map[Identity]DoneRow, error) {
	all := make([]Identity, len(rows))
	for i, r := range rows {
		all[i] = identityOf(r.Event)
	}
	return l.findIdentities(tx, all)
}

func (l *Ledger) findIdentities(tx *database.Tx, all []Identity) (map[Identity]DoneRow, error) {
	text, err := identities(all)
	if err != nil {
		return nil, err
	}
	found := map[Identity]DoneRow{}
	err = l.eachDone(tx, l.sql.lookUp, []any{text}, func(r DoneRow) { found[identityOf(r.Event)] = r })
	return found, err
}

// LookupDone returns those rows of the done log that events have. An event without one was never decided, or in a
// generation that is over. A row that was just written may not be durable yet: see [Ledger.Durable].
func (l *Ledger) LookupDone(ctx context.Context, events []Identity) (found map[Identity]DoneRow, err error) {
	if len(events) > MaxBatch {
		return nil, fmt.Errorf("%d events at once: at most %d are allowed", len(events), MaxBatch)
	}
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		found, err = l.findIdentities(tx, events)
		return err
	})
	return found, err
}

// eachDone calls do with each row of the done log that a statement returns.
func (l *Ledger) eachDone(tx *database.Tx, s database.Statement, arguments []any, do func(DoneRow)) error {
	var r DoneRow
	var at, recorded int64
	var why string
	e, d := &r.Event, &r.Result
	return tx.Each(s, arguments, []any{
		&e.Line, &e.ID, &e.App, &e.Bytes, &at, &d.Individual, &d.Shared, &d.QoS, &d.Blocked, &d.Uncounted, &why, &d.Speed,
		&d.Day, &d.Month, &d.Family, &d.Generation, &d.LineVersion, &d.FamilyVersion, &recorded, &r.Fold,
	}, func() (err error) {
		e.At, r.RecordedAt = database.Instant(at), database.Instant(recorded)
		if d.Why, err = meter.ParseCauses(why); err != nil {
			return unreadable(fmt.Sprintf("event %s of line %s in the done log", e.ID, e.Line), err)
		}
		do(r)
		return nil
	})
}
