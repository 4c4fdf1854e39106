package meter_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/metertest"
)

// TestEveryDecision looks at many random ones, and that among them is one for each cause and for each reason that a state
// can give.
func TestEveryDecision(t *testing.T) {
	t.Parallel()
	cases := metertest.NewCases(7, calendarOf(t, "Europe/Berlin", 31))
	seen, decided := map[string]bool{}, 0
	for range 50_000 {
		c, err := cases.Next()
		if err != nil {
			t.Fatal(err)
		}
		next, result, err := meter.Apply(c.State, c.Event, c.Policies)
		if again, same, err2 := meter.Apply(c.State, c.Event, c.Policies); again != next || same != result || (err == nil) != (err2 == nil) {
			t.Fatalf("%+v is decided in two ways", c)
		}
		if err != nil {
			var reason meter.Reason
			if errors.As(err, &reason); next != c.State || result != (meter.Result{}) {
				t.Fatalf("%v, and something was changed: %s", err, cmp.Diff(c.State, next))
			}
			seen[string(reason)] = true
			continue
		}
		decided++
		for i := range 9 {
			seen[(result.Why & (1 << i)).String()] = true
		}
		checkDecision(t, c, next, result)
	}
	for _, reason := range []meter.Reason{
		meter.GateClosed, meter.PoliciesMissing, meter.UnitNotHydrated, meter.UnitClosed, meter.LineMoved, meter.UnknownLine, meter.MonthNotOpen,
		meter.MissingAllowance, meter.MissingFamily, meter.OtherFamily, meter.Overflow,
	} {
		if !seen[string(reason)] {
			t.Errorf("no case was refused because of %s", reason)
		}
	}
	for i := range 9 {
		if cause := meter.Causes(1 << i); !seen[cause.String()] {
			t.Errorf("no case was decided because of %v", cause)
		}
	}
	if decided < 40_000 {
		t.Errorf("only %d of 50000 cases were decided", decided)
	}
}

func checkDecision(t *testing.T, c metertest.Case, next meter.State, r meter.Result) {
	t.Helper()
	s, rule := c.State, c.Policies.Rule(c.Event.App, c.Event.At)
	if err := (meter.Row{Event: c.Event, Result: r}).Validate(); err != nil {
		t.Fatalf("%+v: %q: %v", c, r.Text(), err)
	}
	if again, err := meter.ParseResult(r.Text()); err != nil || again != r {
		t.Fatalf("%q is read as %+v, %v", r.Text(), again, err)
	}
	want := s
	want.Individual.Amount -= r.Individual
	want.Individual.QoS -= r.QoS
	want.Shared.Amount -= r.Shared
	want.DailyTotal += r.Served()
	want.DailyApp = meter.AppUsage{Individual: s.DailyApp.Individual + r.Individual, Shared: s.DailyApp.Shared + r.Shared, QoS: s.DailyApp.QoS + r.QoS}
	want.LineVersion++
	if r.Shared > 0 {
		want.FamilyVersion++
		want.DailyShared = meter.SharedUsage{Amount: s.DailyShared.Amount + r.Shared, Family: s.Family}
		want.MonthlyShared = meter.SharedUsage{Amount: s.MonthlyShared.Amount + r.Shared, Family: s.Family}
	}
	if next != want {
		t.Fatalf("%+v: %s", c, cmp.Diff(want, next))
	}
	if min(want.Individual.Amount, want.Individual.QoS, want.Shared.Amount, want.DailyTotal, want.MonthlyShared.Amount) < 0 {
		t.Fatalf("%+v: something became negative: %+v", c, next)
	}
	if r.Served() > 0 && (rule.LineCap >= 0 && next.DailyTotal > rule.LineCap || r.Shared > 0 && rule.SharedCap >= 0 && next.MonthlyShared.Amount > rule.SharedCap) {
		t.Fatalf("%+v: a cap was passed: %+v", c, next)
	}
	want.LineVersion, want.FamilyVersion = s.LineVersion, s.FamilyVersion
	if replayed, err := meter.ApplyRow(s, meter.Row{Event: c.Event, Result: r}); err != nil || replayed != want {
		t.Fatalf("%+v: the row gives another state: %v %s", c, err, cmp.Diff(want, replayed))
	}
}

// oneByte decides a single byte, straight from the rules in docs/meter.md.
func oneByte(s meter.State, r meter.Rule) meter.Split {
	app := s.DailyApp.Individual + s.DailyApp.Shared + s.DailyApp.QoS
	switch {
	case r.Blocked || r.Hours:
		return meter.Split{Blocked: 1}
	case r.Uncounted:
		return meter.Split{Uncounted: 1}
	case r.LineCap >= 0 && s.DailyTotal >= r.LineCap, r.AppCap >= 0 && app >= r.AppCap:
		return meter.Split{Blocked: 1}
	case !r.Slow && s.Individual.Amount > 0:
		return meter.Split{Individual: 1}
	case !r.Slow && s.Shared.Amount > 0 && (r.SharedCap < 0 || s.MonthlyShared.Amount < r.SharedCap):
		return meter.Split{Shared: 1}
	case s.Individual.QoS > 0:
		return meter.Split{QoS: 1}
	}
	return meter.Split{Blocked: 1}
}

// TestByteByByte: an event of n bytes is split as n events of one byte are, and those as the rules say.
func TestByteByByte(t *testing.T) {
	t.Parallel()
	calendar := calendarOf(t, "Europe/Berlin", 1)
	at := instant(t, "2026-03-10T11:00:00Z")
	small := rapid.Int64Range(0, 12)
	rapid.Check(t, func(r *rapid.T) {
		e := meter.Event{ID: "e", Line: "line", App: "video", Bytes: rapid.Int64Range(1, 40).Draw(r, "bytes"), At: at}
		s := parseState(t, e, calendar, "i=0 s=0")
		s.Individual.Amount, s.Individual.QoS, s.Shared.Amount = small.Draw(r, "individual"), small.Draw(r, "qos"), small.Draw(r, "shared")
		s.DailyTotal, s.DailyApp.Individual = small.Draw(r, "day"), small.Draw(r, "app")
		s.MonthlyShared = meter.SharedUsage{Amount: small.Draw(r, "taken"), Family: "fam"}
		p := parsePolicies(t, calendar, rapid.SampledFrom([]string{
			"", "", "1:blocked=yes", "2:hours=12:00-12:01", "3:cap=9", "3:cap=20 4:cap:video=13", "4:cap:*=9", "5:speed:video=64", "5:qos=64 3:cap=15",
			"6:cap=6", "6:cap=9 3:cap=18 4:cap:video=17", "7:app:video=yes",
		}).Draw(r, "policies"))

		_, whole, err := meter.Apply(s, e, p)
		if err != nil {
			r.Fatal(err)
		}
		one, sum, expected := e, meter.Split{}, meter.Split{}
		one.Bytes = 1
		for range e.Bytes {
			expected = sumOf(expected, oneByte(s, p.Rule(e.App, e.At)))
			next, result, err := meter.Apply(s, one, p)
			if err != nil {
				r.Fatal(err)
			}
			s, sum = next, sumOf(sum, result.Split)
		}
		if whole.Split != expected || sum != expected {
			r.Fatalf("split at once %+v, byte by byte %+v, by the rules %+v", whole.Split, sum, expected)
		}
	})
}

func sumOf(a, b meter.Split) meter.Split {
	return meter.Split{
		Individual: a.Individual + b.Individual, Shared: a.Shared + b.Shared, QoS: a.QoS + b.QoS,
		Blocked: a.Blocked + b.Blocked, Uncounted: a.Uncounted + b.Uncounted,
	}
}

func TestApplyRefusesAnotherState(t *testing.T) {
	t.Parallel()
	calendar := calendarOf(t, "Europe/Berlin", 1)
	e := meter.Event{ID: "e", Line: "line", App: "video", Bytes: 5, At: instant(t, "2026-03-31T21:59:59Z")}
	s, p := parseState(t, e, calendar, "i=10"), parsePolicies(t, calendar, "")
	for what, change := range map[string]func(*meter.Event){
		"line":  func(e *meter.Event) { e.Line = "other" },
		"app":   func(e *meter.Event) { e.App = "chat" },
		"month": func(e *meter.Event) { e.At = instant(t, "2026-03-31T22:00:00Z") },
		"day":   func(e *meter.Event) { e.At = instant(t, "2026-03-30T12:00:00Z") },
	} {
		other := e
		change(&other)
		_, _, err := meter.Apply(s, other, p)
		t.Log(what)
		wantReason(t, err, meter.OtherState)
	}
	e.Bytes = 0
	_, _, err := meter.Apply(s, e, p)
	wantReason(t, err, meter.BadBytes)
}
