package meterledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Taken is an event from the inbox, with the number that it has there.
type Taken struct {
	Number     int64
	Text       string // the event's JSON
	ReceivedAt time.Time
}

// Event reads the event. What cannot be read is for whoever took it to set aside: it keeps nothing else in the inbox from being taken.
func (t Taken) Event() (meter.Event, error) { return meter.DecodeEvent([]byte(t.Text)) }

// inboxForm is an event in a batch.
type inboxForm struct {
	Line   string `json:"l"`
	ID     string `json:"e"`
	Digest string `json:"h"`
	Event  string `json:"j"`
}

// PutInbox takes in events durably, in one commit. Those that are there already are left as they are; an event of the
// same identity with other content is another one here, and is refused when it is decided.
func (l *Ledger) PutInbox(ctx context.Context, events []meter.Event) error {
	if len(events) > MaxBatch {
		return fmt.Errorf("%d events at once: at most %d are allowed", len(events), MaxBatch)
	}
	forms := make([]inboxForm, len(events))
	for i, e := range events {
		if err := e.Validate(); err != nil {
			return err
		}
		digest := e.Digest()
		forms[i] = inboxForm{e.Line, e.ID, hex.EncodeToString(digest[:]), string(e.AppendJSON(nil))}
	}
	text, err := database.Batch(forms)
	if err != nil || len(events) == 0 {
		return err
	}
	return l.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(l.sql.putInbox, text)
		if err == nil && n == 0 {
			err = l.durably(tx)
		}
		return err
	})
}

// TakeInbox takes up to limit events for a worker, those first that wait longest. Nobody else gets them before the lease
// has ended; then they are taken again, unless [Ledger.DoneInbox] was told of them.
func (l *Ledger) TakeInbox(ctx context.Context, worker string, limit int, lease time.Duration) (all []Taken, err error) {
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		if all, err = eachTaken(tx, l.sql.takeInbox, limit); err != nil || len(all) == 0 {
			return err
		}
		numbers, err := database.Batch(numbersOf(all))
		if err != nil {
			return err
		}
		return tx.Run(l.sql.leaseInbox, numbers, worker, lease.Microseconds())
	})
	return all, err
}

// PageInbox returns events of the inbox after a number, 0 for all, at most limit, whether or not a worker has taken them. It changes nothing.
func (l *Ledger) PageInbox(ctx context.Context, after int64, limit int) (all []Taken, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		all, err = eachTaken(tx, l.sql.pageInbox, after, limit)
		return err
	})
	return all, err
}

func eachTaken(tx *database.Tx, s database.Statement, arguments ...any) (all []Taken, err error) {
	var t Taken
	var received int64
	return all, tx.Each(s, arguments, []any{&t.Number, &t.Text, &received}, func() error {
		t.ReceivedAt = database.Instant(received)
		all = append(all, t)
		return nil
	})
}

func numbersOf(all []Taken) []int64 {
	numbers := make([]int64, len(all))
	for i, t := range all {
		numbers[i] = t.Number
	}
	return numbers
}

// DoneInbox removes events that are in the done log or were refused for good, whoever has taken them. It
// may be repeated.
func (l *Ledger) DoneInbox(ctx context.Context, numbers []int64) error {
	if len(numbers) == 0 {
		return nil
	}
	text, err := database.Batch(numbers)
	if err != nil {
		return err
	}
	return l.db.Change(ctx, func(tx *database.Tx) error { return tx.Run(l.sql.doneInbox, text) })
}

// CountInbox returns how many events wait, and since when the first one does.
func (l *Ledger) CountInbox(ctx context.Context) (n int64, since time.Time, err error) {
	var first int64
	err = l.db.Look(ctx, func(tx *database.Tx) error { return tx.One(l.sql.countInbox, nil, &n, &first) })
	return n, database.Instant(first), err
}
