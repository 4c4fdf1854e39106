package meter_test

import (
	"testing"

	"github.com/reprise-dev/reprise/meter"
)

func TestApplyGrant(t *testing.T) {
	t.Parallel()
	calendar := calendarOf(t, "Europe/Berlin", 1)
	e := meter.Event{Line: "line", App: "video", At: instant(t, "2026-03-10T11:00:00Z")}
	toLine := meter.Grant{ID: "g", Kind: meter.TopUp, Line: "line", Month: 202603, Individual: 5, QoS: 7}
	toFamily := meter.Grant{ID: "g", Kind: meter.TopUp, Family: "fam", Month: 202603, Shared: 5}
	monthly := func(g meter.Grant) meter.Grant { g.Kind = meter.Monthly; return g }
	with := func(g meter.Grant, change func(*meter.Grant)) meter.Grant { change(&g); return g }
	for what, c := range map[string]struct {
		before, policies string
		grant            meter.Grant
		reason           meter.Reason
		after            string
	}{
		"to a line":               {"i=10 q=20", "", toLine, "", "i=15 q=27 v=1"},
		"to a family":             {"i=10 q=20 s=30", "", toFamily, "", "i=10 q=20 s=35 v=0/1"},
		"the month's":             {"family=fam month=closed", "", monthly(toLine), "", "family=fam month=closed i=5 q=7 v=1"},
		"the month's of nothing":  {"month=closed", "", monthly(with(toLine, func(g *meter.Grant) { g.Individual, g.QoS = 0, 0 })), "", "month=closed i=0 q=0 v=1"},
		"up to the largest":       {"i=9223372036854775802 q=0", "", toLine, "", "i=9223372036854775807 q=7 v=1"},
		"beyond it":               {"i=9223372036854775803 q=0", "", toLine, meter.Overflow, ""},
		"beyond it, QoS":          {"i=0 q=9223372036854775801", "", toLine, meter.Overflow, ""},
		"beyond it, of a family":  {"i=0 s=9223372036854775807", "", toFamily, meter.Overflow, ""},
		"the month's again":       {"i=10 q=20", "", monthly(toLine), meter.GrantedTwice, ""},
		"a family's again":        {"i=10 q=20 s=30", "", monthly(toFamily), meter.GrantedTwice, ""},
		"before the month's":      {"", "", toLine, meter.MonthNotOpen, ""},
		"before the family's":     {"family=fam", "", toFamily, meter.MonthNotOpen, ""},
		"of a month not open":     {"month=closed", "", toLine, meter.MonthNotOpen, ""},
		"to another line":         {"i=10", "", with(toLine, func(g *meter.Grant) { g.Line = "other" }), meter.OtherState, ""},
		"to another family":       {"i=10 s=0", "", with(toFamily, func(g *meter.Grant) { g.Family = "other" }), meter.OtherState, ""},
		"of another month":        {"i=10", "", with(toLine, func(g *meter.Grant) { g.Month = 202604 }), meter.OtherState, ""},
		"the gate is closed":      {"i=10", "8:open=no", toLine, meter.GateClosed, ""},
		"the unit is closed":      {"i=10 unit=closed", "", toLine, meter.UnitClosed, ""},
		"the line has moved":      {"i=10 line=moved", "", toLine, meter.LineMoved, ""},
		"an unknown line's month": {"line=unknown month=closed", "", monthly(toLine), meter.UnknownLine, ""},
		"to nobody":               {"i=10", "", with(toLine, func(g *meter.Grant) { g.Line = "" }), meter.BadGrant, ""},
		"to two":                  {"i=10 s=0", "", with(toLine, func(g *meter.Grant) { g.Family = "fam" }), meter.BadGrant, ""},
		"of nothing":              {"i=10", "", with(toLine, func(g *meter.Grant) { g.Individual, g.QoS = 0, 0 }), meter.BadGrant, ""},
		"of less":                 {"i=10", "", with(toLine, func(g *meter.Grant) { g.Individual = -1 }), meter.BadGrant, ""},
		"shared to a line":        {"i=10", "", with(toLine, func(g *meter.Grant) { g.Shared = 1 }), meter.BadGrant, ""},
		"own to a family":         {"i=10 s=0", "", with(toFamily, func(g *meter.Grant) { g.QoS = 1 }), meter.BadGrant, ""},
		"of no month":             {"i=10", "", with(toLine, func(g *meter.Grant) { g.Month = 202613 }), meter.BadGrant, ""},
		"without an id":           {"i=10", "", with(toLine, func(g *meter.Grant) { g.ID = "" }), meter.BadID, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			before := parseState(t, e, calendar, c.before)
			after, err := meter.ApplyGrant(before, c.grant, parsePolicies(t, calendar, c.policies))
			wantReason(t, err, c.reason)
			want := before
			if c.reason == "" {
				want = parseState(t, e, calendar, c.after)
			}
			if after != want {
				t.Errorf("got  %+v\nwant %+v", after, want)
			}
		})
	}
}

func TestCheckGrant(t *testing.T) {
	t.Parallel()
	before := []meter.Grant{
		{ID: "a", Kind: meter.Monthly, Line: "line", Month: 202603, Individual: meter.MaxAmount - 5, QoS: 1},
		{ID: "b", Kind: meter.TopUp, Line: "line", Month: 202603, Individual: 4},
		{ID: "c", Kind: meter.Monthly, Family: "line", Month: 202603, Shared: meter.MaxAmount},
	}
	for _, c := range []struct {
		grant  meter.Grant
		reason meter.Reason
	}{
		{meter.Grant{ID: "d", Kind: meter.TopUp, Line: "line", Month: 202603, Individual: 1, QoS: meter.MaxAmount - 1}, ""},
		{meter.Grant{ID: "d", Kind: meter.TopUp, Line: "line", Month: 202603, Individual: 2}, meter.Overflow},
		{meter.Grant{ID: "d", Kind: meter.TopUp, Line: "line", Month: 202603, QoS: meter.MaxAmount}, meter.Overflow},
		{meter.Grant{ID: "d", Kind: meter.TopUp, Family: "line", Month: 202603, Shared: 1}, meter.Overflow},
		{meter.Grant{ID: "d", Kind: meter.TopUp, Line: "line", Month: 202604, Individual: 2}, ""},
		{meter.Grant{ID: "d", Kind: meter.Monthly, Line: "line", Month: 202603, Individual: 1}, meter.GrantedTwice},
		{meter.Grant{ID: "d", Kind: meter.Monthly, Line: "line", Month: 202604, Individual: 1}, ""},
		{meter.Grant{ID: "b", Kind: meter.TopUp, Line: "other", Month: 202605, Individual: 1}, meter.GrantedTwice},
		{meter.Grant{ID: "d", Kind: 2, Line: "line", Month: 202604, Individual: 1}, meter.BadGrant},
	} {
		wantReason(t, meter.CheckGrant(before, c.grant), c.reason)
	}
	for _, kind := range []meter.GrantKind{meter.Monthly, meter.TopUp} {
		if again, err := meter.ParseGrantKind(kind.String()); err != nil || again != kind {
			t.Errorf("%v is read as %v, %v", kind, again, err)
		}
	}
	if _, err := meter.ParseGrantKind("yearly"); err == nil {
		t.Error("an unknown kind was taken")
	}
}
