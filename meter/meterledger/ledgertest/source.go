package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// pagesOf are all ranges, so many at once.
func pagesOf(w *world, size, most int) (all []meterledger.Range) {
	for from, end := "", false; !end; end = from == "" {
		page, err := w.RangesFrom(w.Context(), from, size, most)
		w.must(err)
		if len(page) == 0 || len(page) > most {
			w.Fatalf("%d ranges of at most %d", len(page), most)
		}
		all = append(all, page...)
		from = page[len(page)-1].To
	}
	return all
}

// Ranges leave out no unit and have none twice, also one that is added later; a unit has a range of its own.
func testRanges(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	families, lines := []meterledger.Family{{ID: "empty"}}, []meterledger.Line{}
	for i := range 30 {
		families = append(families, meterledger.Family{ID: fmt.Sprintf("f-%d", i)})
		lines = append(lines, meterledger.Line{ID: fmt.Sprintf("a-%d", i), Family: fmt.Sprintf("f-%d", i/2)}, meterledger.Line{ID: fmt.Sprintf("lone-%d", i)})
	}
	w.must(w.Import(ctx, families, lines, nil))
	for _, size := range []int{1, 7, 1000} {
		ranges, err := w.Ranges(ctx, size)
		w.must(err)
		for _, most := range []int{1, 2, 9} {
			if paged := pagesOf(w, size, most); !slices.Equal(paged, ranges) {
				t.Errorf("%d ranges of %d at once are %v, all at once %v", most, size, paged, ranges)
			}
		}
		if ranges[0].From != "" || ranges[len(ranges)-1].To != "" || size == 7 && len(ranges) != 10 {
			t.Errorf("%d ranges of %d: %v", len(ranges), size, ranges)
		}
		w.must(w.Import(ctx, []meterledger.Family{{ID: fmt.Sprintf("late-%d", size)}}, []meterledger.Line{{ID: fmt.Sprintf("late-%d", size)}}, nil))
		members, units := map[string]string{}, map[string]int{}
		for i, r := range ranges {
			if i > 0 && r.From != ranges[i-1].To {
				t.Errorf("between %v and %v something is left out", ranges[i-1], r)
			}
			held, err := w.Read(ctx, r, meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}})
			w.must(err)
			for line, family := range held.Source.Members {
				if _, twice := members[line]; twice {
					t.Errorf("line %s is in two ranges", line)
				}
				members[line] = family
			}
			for _, f := range held.Families {
				units[f]++
			}
		}
		c, err := w.Counts(ctx)
		if err != nil || int64(len(members)) != c.Lines || int64(len(units)) != c.Families {
			t.Errorf("%d lines and %d families of %+v, %v", len(members), len(units), c, err)
		}
	}
	for tag, want := range map[string]map[string]string{
		"f:fam": {"ann": "fam", "bob": "fam"}, "l:cas": {"cas": ""}, "l:ann": {}, "f:empty": {}, "f:f-1": {"a-2": "f-1", "a-3": "f-1"},
	} {
		held, err := w.Read(ctx, meterledger.Unit(tag), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}})
		w.must(err)
		if d := cmp.Diff(want, held.Source.Members); d != "" {
			t.Errorf("%s:\n%s", tag, d)
		}
	}
}

// The rows and grants that have a record in Redis are those that are young enough, folded or not; a horizon cuts off what is
// before it.
func testRecords(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	rows := w.some(40)
	w.append(rows...)
	_, err := w.Fold(ctx, meterledger.FoldOptions{Limit: 15})
	w.must(err)
	limit := []meter.Field{{Name: "cap", Value: "500"}}
	_, err = w.PutPolicy(ctx, "ann", meter.LineCap, 0, limit, "me")
	w.must(err)
	held, err := w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}, Day: 20260301, RecordLife: time.Hour})
	w.must(err)
	all := map[string]bool{}
	for _, r := range slices.Concat(held.Rows, held.Folded) {
		all[r.Event.Identity()] = true
	}
	if len(held.Rows) != 25 || len(held.Folded) != 15 || len(all) != 40 || len(held.Source.Rows) != 25 {
		t.Errorf("%d rows, %d folded", len(held.Rows), len(held.Folded))
	}
	if len(held.Grants) != 6 || held.Grants[0].MadeAt.Before(held.RecordsSince) || !held.Grants[0].Confirmed() || held.Source.Generation != generation {
		t.Errorf("%+v since %v, %q", held.Grants, held.RecordsSince, held.Source.Generation)
	}
	if held.Policies.Lines["ann"].Get(meter.LineCap).Version() != 1 || len(held.Policies.Global.Missing()) > 0 {
		t.Errorf("%+v", held.Policies)
	}
	if c := held.Changes["l:cas"]; c.Highest != w.book.LineVersions["cas"] || !c.GapFree() {
		t.Errorf("%+v", c)
	}
	held, err = w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}, Day: 20260301, RecordLife: time.Microsecond})
	if err != nil || len(held.Folded) > 0 || len(held.Rows) != 25 {
		t.Errorf("%d records outlive a microsecond, %v", len(held.Folded), err)
	}
	held, err = w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march + 1, Last: meter.LastMonth}, Day: 20260401})
	if err != nil || len(held.Rows)+len(held.Grants)+len(held.Source.Folded.Totals)+len(held.Source.Folded.Snapshots) > 0 || len(held.Source.Members) != 4 {
		t.Errorf("%+v, %v", held, err)
	}
}

func testMove(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	late := w.use("ann", "video", 150, noon)
	w.append(w.some(20)...)
	move := func() meterledger.Move {
		return meterledger.Move{Line: "ann", From: "fam", To: "kin", Generation: w.book.Generation, Version: w.book.LineVersions["ann"]}
	}
	refused := func(what string, m meterledger.Move, want error) {
		t.Helper()
		if err := w.MoveLine(ctx, m); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	refused("rows that are not folded", move(), meterledger.ErrNotDrained)
	w.fold()
	refused("a row that is not there", move(), meterledger.ErrNotDrained)
	w.append(late)
	refused("a late row", move(), meterledger.ErrNotDrained)
	w.fold()
	_, err := w.AddGrant(ctx, topUp("t1", "ann", "", 5))
	w.must(err)
	refused("a grant that a hydration may have counted", move(), meterledger.ErrNotDrained)
	_, err = w.PutPolicy(ctx, "", meter.Gate, 1, []meter.Field{{Name: "open", Value: "yes"}}, "suite")
	w.must(err)
	for what, c := range map[string]struct {
		change func(*meterledger.Move)
		want   error
	}{
		"no such line":       {func(m *meterledger.Move) { m.Line = "nobody" }, meterledger.ErrUnknown},
		"no such family":     {func(m *meterledger.Move) { m.To = "none" }, meterledger.ErrUnknown},
		"from elsewhere":     {func(m *meterledger.Move) { m.From = "" }, meterledger.ErrConflict},
		"an old generation":  {func(m *meterledger.Move) { m.Generation = "00" }, meterledger.ErrOldGeneration},
		"an earlier version": {func(m *meterledger.Move) { m.Version-- }, meterledger.ErrNotDrained},
	} {
		m := move()
		c.change(&m)
		refused(what, m, c.want)
	}
	w.must(w.HoldFolds(ctx, "s", 1, "restore"))
	refused("during a restore", move(), meterledger.ErrHeld)
	w.must(w.ReleaseFolds(ctx, "s", 1))
	for range 2 {
		w.must(w.MoveLine(ctx, move()))
	}
	lines, err := w.Lines(ctx, []string{"ann"})
	if err != nil || lines["ann"].Family != "kin" {
		t.Errorf("%+v, %v", lines, err)
	}
	all, err := w.History(ctx, "ann")
	if err != nil || len(all) != 2 || all[0].Family != "fam" || !all[0].Until.Equal(all[1].From) || !all[1].Until.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	// What it took of its former family stays theirs: the model is rebuilt by hand.
	w.book.Members["ann"] = "kin"
	for key := range w.book.DailyShared {
		if key.Line == "ann" {
			delete(w.book.DailyShared, key)
		}
	}
	delete(w.book.MonthlyShared, meter.MonthKey{Owner: "ann", Month: march})
	w.deliver() // the grant that was not made before
	w.check()
	row := w.use("ann", "video", 200, noon)
	if row.Result.Family != "kin" || row.Result.Shared == 0 {
		t.Fatalf("%+v", row.Result)
	}
	w.append(row)
	w.check()
	w.fold()
	w.check()
	// And back, to none.
	m := move()
	m.From, m.To, m.Version = "kin", "", w.book.LineVersions["ann"]
	w.must(w.MoveLine(ctx, m))
	w.audited()
}

func testInbox(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	events := make([]meter.Event, 50)
	for i := range events {
		events[i] = w.use("ann", "video", 1, noon).Event
	}
	other := events[0]
	other.Bytes = 2
	for range 2 {
		w.must(w.PutInbox(ctx, events))
	}
	w.must(w.PutInbox(ctx, []meter.Event{events[1], other}))
	if n, since, err := w.CountInbox(ctx); n != 51 || since.IsZero() || err != nil {
		t.Fatalf("%d since %v, %v", n, since, err)
	}
	taken := map[int64]meter.Event{}
	for n := 20; n == 20; {
		all, err := w.TakeInbox(ctx, "worker-1", 20, time.Hour)
		w.must(err)
		n = len(all)
		for _, one := range all {
			if _, twice := taken[one.Number]; twice || one.ReceivedAt.IsZero() {
				t.Errorf("%+v", one)
			}
			e, err := one.Event()
			w.must(err)
			taken[one.Number] = e
		}
	}
	if len(taken) != 51 {
		t.Errorf("%d were taken", len(taken))
	}
	for _, e := range taken {
		if e != other && !slices.Contains(events, e) {
			t.Errorf("%+v came out", e)
		}
	}
	if all, err := w.TakeInbox(ctx, "worker-2", 20, time.Hour); len(all) > 0 || err != nil {
		t.Errorf("%d are taken twice, %v", len(all), err)
	}
	var done []int64
	for number := range taken {
		done = append(done, number)
	}
	for range 2 {
		w.must(w.DoneInbox(ctx, done[:50]))
	}
	if n, _, err := w.CountInbox(ctx); n != 1 || err != nil {
		t.Errorf("%d are left, %v", n, err)
	}
	w.must(w.PutInbox(ctx, events[:1]))
	for range 2 { // a lease that has ended
		all, err := w.TakeInbox(ctx, "worker-1", 20, 0)
		if err != nil || len(all) == 0 {
			t.Errorf("%v, %v", all, err)
		}
	}
	bad := events[0]
	bad.Bytes = 0
	if err := w.PutInbox(ctx, []meter.Event{bad}); !errors.Is(err, meter.BadBytes) {
		t.Error(err)
	}
}
