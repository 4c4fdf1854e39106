package meter_test

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/meter"
)

func rowOf(t testing.TB, event, result string) meter.Row {
	t.Helper()
	e, err := meter.DecodeEvent([]byte(event))
	if err != nil {
		t.Fatal(err)
	}
	r, err := meter.ParseResult(result)
	if err != nil {
		t.Fatal(err)
	}
	return meter.Row{Event: e, Result: r}
}

func goodRow(t testing.TB) meter.Row {
	t.Helper()
	event := strings.NewReplacer("1048576", "650", "+4915112345", "line", "2026-03-01", "2026-03-10").Replace(good)
	return rowOf(t, event, goodResult)
}

func TestApplyRowRefuses(t *testing.T) {
	t.Parallel()
	calendar := calendarOf(t, "Europe/Berlin", 1)
	const before = "i=100 q=300 s=200"
	for what, c := range map[string]struct {
		before string
		change func(*meter.Row)
		reason meter.Reason
	}{
		"nothing":              {before, func(*meter.Row) {}, ""},
		"a closed unit":        {before + " unit=closed", func(*meter.Row) {}, ""},
		"another amount":       {before, func(r *meter.Row) { r.Event.Bytes++ }, meter.BadRow},
		"another line":         {before, func(r *meter.Row) { r.Event.Line = "other" }, meter.OtherState},
		"another app":          {before, func(r *meter.Row) { r.Event.App = "chat" }, meter.OtherState},
		"another day":          {before, func(r *meter.Row) { r.Result.Day++ }, meter.OtherState},
		"another month":        {before, func(r *meter.Row) { r.Result.Month++ }, meter.OtherState},
		"another family":       {before, func(r *meter.Row) { r.Result.Family = "other" }, meter.OtherFamily},
		"no family":            {before, func(r *meter.Row) { r.Result.Family = "" }, meter.MissingFamily},
		"a negative part":      {before, func(r *meter.Row) { r.Result.QoS, r.Result.Blocked = -1, 351 }, meter.BadRow},
		"no version":           {before, func(r *meter.Row) { r.Result.LineVersion = 0 }, meter.BadRow},
		"no event":             {before, func(r *meter.Row) { r.Event.ID = "" }, meter.BadID},
		"too little own":       {"i=99 q=300 s=200", func(*meter.Row) {}, meter.Overdrawn},
		"too little QoS":       {"i=100 q=299 s=200", func(*meter.Row) {}, meter.Overdrawn},
		"too little shared":    {"i=100 q=300 s=199", func(*meter.Row) {}, meter.Overdrawn},
		"no grant":             {"", func(*meter.Row) {}, meter.OtherFamily},
		"no grant of the line": {"family=fam", func(*meter.Row) {}, meter.MissingAllowance},
		"a full counter":       {before + " day=9223372036854775807", func(*meter.Row) {}, meter.Overflow},
		"usage of another":     {before + " mshared=1@other", func(*meter.Row) {}, meter.OtherFamily},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			row := goodRow(t)
			s := parseState(t, row.Event, calendar, c.before)
			c.change(&row)
			next, err := meter.ApplyRow(s, row)
			wantReason(t, err, c.reason)
			if c.reason != "" && next != s {
				t.Error("refused, and changed")
			}
		})
	}
}

// TestRebuildRefuses: what in SQL does not fit together is told, not made into a state.
func TestRebuildRefuses(t *testing.T) {
	t.Parallel()
	own := meter.Grant{ID: "a", Kind: meter.Monthly, Line: "line", Month: 202603, Individual: 100, QoS: 300}
	shared := meter.Grant{ID: "b", Kind: meter.Monthly, Family: "fam", Month: 202603, Shared: 200}
	in := func(family string) map[string]string { return map[string]string{"line": family} }
	for what, c := range map[string]struct {
		members map[string]string
		grants  []meter.Grant
		change  func(*meter.Folded)
		reason  meter.Reason
	}{
		"nothing":                    {in("fam"), []meter.Grant{own, shared}, nil, ""},
		"a line that has moved":      {in("kin"), []meter.Grant{own}, nil, ""},
		"a line of another unit":     {map[string]string{"other": "fam"}, []meter.Grant{shared}, nil, ""},
		"no grant of the line":       {in("fam"), []meter.Grant{shared}, nil, meter.MissingAllowance},
		"no grant of the family":     {in("fam"), []meter.Grant{own}, nil, meter.MissingAllowance},
		"granted less than was used": {in("fam"), []meter.Grant{own, {ID: "b", Family: "fam", Month: 202603, Shared: 199}}, nil, meter.Overdrawn},
		"granted too much":           {in("fam"), []meter.Grant{own, shared, {ID: "c", Kind: meter.TopUp, Line: "line", Month: 202603, Individual: meter.MaxAmount}, {ID: "d", Kind: meter.TopUp, Line: "line", Month: 202603, Individual: 1}}, nil, meter.Overflow},
		"a grant of nothing":         {in("fam"), []meter.Grant{own, shared, {ID: "c", Kind: meter.TopUp, Line: "line", Month: 202603}}, nil, meter.BadGrant},
		"shared usage of no family": {in("fam"), []meter.Grant{own, shared}, func(f *meter.Folded) {
			f.Snapshots[meter.SnapshotKey{Line: "line", Month: 202603}] = meter.Sums{Shared: meter.WideOf(1)}
		}, meter.MissingFamily},
		"too much of a day": {in("fam"), []meter.Grant{own, shared}, func(f *meter.Folded) {
			f.Totals[meter.TotalKey{Line: "line", Day: 20260310, App: "chat", Month: 202603}] = meter.Sums{Individual: meter.WideOf(meter.MaxAmount)}
		}, meter.Overflow},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			folded, err := meter.Fold([]meter.Row{goodRow(t)})
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(&folded)
			}
			_, err = meter.Rebuild(meter.Source{Generation: "1", Members: c.members, Grants: c.grants, Folded: folded})
			wantReason(t, err, c.reason)
		})
	}
	bad := goodRow(t)
	bad.Event.Bytes++
	_, err := meter.Fold([]meter.Row{bad})
	wantReason(t, err, meter.BadRow)
}

// TestBlockedBytesSumUp beyond what one amount can be: nothing limits what somebody tries.
func TestBlockedBytesSumUp(t *testing.T) {
	t.Parallel()
	event := strings.NewReplacer("1048576", "9223372036854775807").Replace(good)
	row := rowOf(t, event, "1;d=20260301;m=202603;b=9223372036854775807;why=line_blocked;lv=1;g=1")
	folded, err := meter.Fold([]meter.Row{row, row, row})
	if err != nil {
		t.Fatal(err)
	}
	sums := folded.Totals[meter.TotalKey{Line: row.Event.Line, Day: 20260301, App: "video", Month: 202603}]
	if sums.Events != 3 || sums.Blocked.String() != "27670116110564327421" {
		t.Errorf("%d events, %v bytes", sums.Events, sums.Blocked)
	}
}

// TestMonthsAreOpenedByUnit: a monthly grant opens its month for the whole unit. What is then missing of it is a mistake;
// before, it was only early.
func TestMonthsAreOpenedByUnit(t *testing.T) {
	t.Parallel()
	p := parsePolicies(t, calendarOf(t, "Europe/Berlin", 1), "")
	b := meter.NewBook("1", map[string]string{"ann": "fam", "bob": "fam", "cas": ""})
	e := goodRow(t).Event
	use := func(line string, want meter.Reason) {
		t.Helper()
		e.Line = line
		_, err := b.Apply(e, p)
		wantReason(t, err, want)
	}
	use("ann", meter.MonthNotOpen)
	for _, g := range []meter.Grant{{ID: "1", Line: "ann", Month: 202603, Individual: 1000}, {ID: "2", Family: "fam", Month: 202603}} {
		use("bob", map[string]meter.Reason{"1": meter.MonthNotOpen, "2": meter.MissingAllowance}[g.ID])
		if err := b.ApplyGrant(g, p); err != nil {
			t.Fatal(err)
		}
	}
	use("ann", "")
	use("bob", meter.MissingAllowance)
	use("cas", meter.MonthNotOpen)
	use("eve", meter.UnknownLine)
	if err := b.ApplyGrant(meter.Grant{ID: "3", Line: "eve", Month: 202603}, p); err == nil {
		t.Error("a grant to an unknown line was made")
	}
	if err := b.ApplyGrant(meter.Grant{ID: "3", Family: "fam", Month: 202603}, p); err == nil {
		t.Error("a family has a month twice")
	}
	if err := b.ApplyRow(meter.Row{}); err == nil {
		t.Error("a row of nothing was applied")
	}
}
