package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// fate is what is to become of a delivery.
type fate struct {
	event meter.Event
	row   *meter.Row     // its row, which is to be appended unless it is done
	done  bool           // its row is there
	why   *meter.Refusal // it is refused for good
	err   error          // it is decided later
	check meterredis.Checked
}

// decide has deliveries decided, many at once. The rows that it returns are not committed yet.
func (w *Worker) decide(ctx context.Context, deliveries []delivery) []fate {
	fates := make([]fate, len(deliveries))
	var lines []string
	for i, d := range deliveries {
		e, err := meter.DecodeEvent([]byte(d.text))
		if err != nil {
			fates[i].refuse(err)
			continue
		}
		fates[i].event = e
		lines = append(lines, e.Line)
	}
	w.Directory.In(w.Meter.Generation())
	known, err := w.Directory.Lines(ctx, time.Now(), lines...)
	if err != nil {
		for i := range fates {
			fates[i].err = err
		}
		return fates
	}
	var decidable []*fate
	for i := range fates {
		if fates[i].why == nil {
			decidable = append(decidable, &fates[i])
		}
	}
	w.deductAll(ctx, decidable, known)
	w.look(ctx, fates)
	return fates
}

// deductAll asks the script about events, of lines as they are known.
func (w *Worker) deductAll(ctx context.Context, fates []*fate, known map[string]meterledger.Line) {
	var ask []meterredis.Delivery
	var asked []*fate
	for _, f := range fates {
		line := known[f.event.Line]
		if line.ID == "" {
			f.refuse(noSuchLine())
			continue
		}
		ask, asked = append(ask, meterredis.Delivery{Event: f.event, Family: line.Family, Checked: f.check}), append(asked, f)
	}
	group := new(errgroup.Group)
	group.SetLimit(troublesAtOnce)
	for i, d := range w.Meter.DeductAll(ctx, ask) {
		f := asked[i]
		if d.Err == nil {
			f.take(ctx, w, ask[i].Family, d.Decision, nil)
			continue
		}
		group.Go(func() error {
			if f.take(ctx, w, ask[i].Family, d.Decision, d.Err); f.elsewhere() {
				f.follow(ctx, w)
			}
			return nil
		})
	}
	_ = group.Wait() // they return nothing
}

// troublesAtOnce is how many events at once are looked into that were not just decided.
const troublesAtOnce = 32

func noSuchLine() *meter.Refusal {
	return &meter.Refusal{Reason: meter.UnknownLine, Field: "line_id", Detail: "no such line: import it, then send the event again"}
}

// elsewhere reports whether the line is not where it was looked for.
func (f *fate) elsewhere() bool {
	var refusal *meter.Refusal
	return errors.As(f.err, &refusal) && (refusal.Reason.Action() == meter.LookUp || refusal.Reason == meter.UnknownLine)
}

// follow looks up once more in which family the line is, and decides the event there. Where it was checked for another unit it is to be
// checked again.
func (f *fate) follow(ctx context.Context, w *Worker) {
	w.Directory.Forget(f.event.Line)
	known, err := w.Directory.Lines(ctx, time.Now(), f.event.Line)
	switch line := known[f.event.Line]; {
	case err != nil:
		f.err = err
	case line.ID == "":
		f.refuse(noSuchLine())
	default:
		decided, err := w.Meter.Deduct(ctx, meterredis.Delivery{Event: f.event, Family: line.Family})
		f.take(ctx, w, line.Family, decided, err)
	}
}

// take takes what the script has said.
func (f *fate) take(ctx context.Context, w *Worker, family string, decided meterredis.Decision, err error) {
	f.row, f.err = nil, nil
	if errors.Is(err, meter.MissingAllowance) {
		if w.granting(ctx, f.event.Line, family) {
			f.err = err
			return
		}
		decided, err = w.Meter.Deduct(ctx, meterredis.Delivery{Event: f.event, Family: family}) // it may have come before SQL was asked
	}
	if err == nil {
		f.row = &meter.Row{Event: f.event, Result: decided.Result}
		return
	}
	var refusal *meter.Refusal
	var stuck *meterredis.Stuck
	switch {
	case errors.Is(err, meter.MonthNotOpen) && w.over(ctx, f.event):
		f.err = errMonthOver
	case errors.As(err, &refusal) && refusal.Reason.Action() == meter.Reject && refusal.Reason != meter.UnknownLine:
		f.refuse(refusal)
	case errors.As(err, &stuck):
		f.refuse(&meter.Refusal{Reason: reasonStuck, Detail: stuck.Error()})
	default:
		f.err = err
	}
}

// errMonthOver is the error of an event whose month is not opened any more. If it has no row it never gets one.
var errMonthOver = fmt.Errorf("its month is over: %w", meterredis.ErrUnchecked)

// over reports whether an event is of a month before those that are due: it was accepted, and waited for longer than that.
func (w *Worker) over(ctx context.Context, e meter.Event) bool {
	now, err := w.Ledger.Now(ctx)
	return err == nil && w.Meter.Month(e.At) < w.Meter.Due(now).First
}

// granting reports whether a grant of the line or its family is on its way to Redis: SQL has it, as of a line that was just
// imported into a family whose month is open.
func (w *Worker) granting(ctx context.Context, line, family string) bool {
	owners := []string{meter.UnitTag(line, "")}
	if family != "" {
		owners = append(owners, meter.UnitTag("", family))
	}
	now, err := w.Ledger.Now(ctx)
	if err != nil {
		return true
	}
	changes, err := w.Ledger.Changes(ctx, w.Meter.Generation(), owners, w.Meter.Due(now))
	for _, c := range changes {
		if c.Unconfirmed > 0 {
			return true
		}
	}
	return err != nil // it may be: the event waits
}

// reasonStuck is that of an event of which nobody knows whether it was counted.
const reasonStuck meter.Reason = "stuck"

func (f *fate) refuse(err error) {
	var refusal *meter.Refusal
	if !errors.As(err, &refusal) {
		refusal = &meter.Refusal{Reason: meter.Malformed, Detail: err.Error()}
	}
	f.why, f.err = refusal, nil
}

// look asks the done log about events whose records may be forgotten, and has those decided that have no row.
func (w *Worker) look(ctx context.Context, fates []fate) {
	var old []*fate
	var lines []string
	for i := range fates {
		if f := &fates[i]; errors.Is(f.err, meterredis.ErrUnchecked) {
			old, lines = append(old, f), append(lines, f.event.Line)
		}
	}
	if len(old) == 0 {
		return
	}
	known, err := w.Directory.Lines(ctx, time.Now(), lines...)
	if err == nil {
		err = w.check(ctx, old, known)
	}
	if err != nil {
		for _, f := range old {
			f.err = err
		}
		return
	}
	w.deductAll(ctx, slices.DeleteFunc(old, func(f *fate) bool { return f.done || f.why != nil }), known)
}

// check asks the done log about events, and finishes those that it knows of. The others are checked.
func (w *Worker) check(ctx context.Context, old []*fate, known map[string]meterledger.Line) error {
	deliveries, ask := make([]meterredis.Delivery, len(old)), make([]meterledger.Identity, len(old))
	for i, f := range old {
		deliveries[i] = meterredis.Delivery{Event: f.event, Family: known[f.event.Line].Family}
		ask[i] = meterledger.Identity{Line: f.event.Line, Event: f.event.ID}
	}
	checks, err := w.Meter.Checks(ctx, deliveries)
	if err != nil {
		return err
	}
	found, err := w.Ledger.LookupDone(ctx, ask)
	if err == nil && len(found) > 0 { // what is there is taken out of its stream
		err = w.Ledger.Durable(ctx)
	}
	if err != nil {
		return err
	}
	purged, err := w.Ledger.Purged(ctx) // it is noted before the first row goes, so it is asked for after these
	if err != nil {
		return err
	}
	for i, f := range old {
		row, there := found[ask[i]]
		switch {
		case there && row.Event.Digest() == f.event.Digest():
			f.row, f.done, f.err = &row.Row, true, nil // whoever wrote it may have died before it was let expire
		case there:
			f.refuse(&meter.Refusal{Reason: meter.OtherContent, Field: "event_id", Detail: "this line's event of this id was another: give the event an id of its own"})
		case errors.Is(f.err, errMonthOver):
			f.refuse(&meter.Refusal{Reason: meter.TooOld, Field: "occurred_at", Detail: "its month ended while it waited, and is not opened any more: it was not counted, book it by hand"})
		case w.Meter.Day(f.event.At) <= purged:
			f.refuse(&meter.Refusal{Reason: meter.TooOld, Field: "occurred_at", Detail: "rows of its day were purged, and nobody knows whether it was counted: book it by hand"})
		default:
			f.check = checks[i]
		}
	}
	return nil
}
