package meter_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones everywhere

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/meter"
)

// example is a row of the table in docs/meter.md. The columns are explained there.
type example struct {
	name, when, before, policies, event, answer, after string
}

var code = regexp.MustCompile("^`(.*)`$")

func readExamples(t *testing.T) []example {
	t.Helper()
	text, err := os.ReadFile("../docs/meter.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## Examples\n")
	if !ok {
		t.Fatal("docs/meter.md has no examples")
	}
	var examples []example
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| Case") {
			continue
		}
		for i, cell := range cells {
			cells[i] = code.ReplaceAllString(strings.TrimSpace(cell), "$1")
		}
		examples = append(examples, example{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	return examples
}

// TestExamples runs the table in docs/meter.md.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := readExamples(t)
	if len(examples) < 70 {
		t.Fatalf("docs/meter.md has %d examples: the table was not read", len(examples))
	}
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			e.run(t)
		})
	}
}

func (e example) run(t *testing.T) {
	event := e.parseEvent(t)
	at, calendar := e.parseWhen(t)
	event.At = at
	policies := parsePolicies(t, calendar, e.policies)
	before := parseState(t, event, calendar, e.before)
	after, result, err := meter.Apply(before, event, policies)

	if !strings.Contains(e.answer, "=") {
		if !errors.Is(err, meter.Reason(e.answer)) {
			t.Fatalf("got %v and %q, want %s", err, result.Text(), e.answer)
		}
		if after != before {
			t.Errorf("refused, and changed:\n%s", cmp.Diff(before, after))
		}
		return
	}
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	result2, err := meter.ParseResult(result.Text())
	if err != nil || result2 != result {
		t.Errorf("%q is read as %q, %v", result.Text(), result2.Text(), err)
	}
	if got := e.shorten(result); got != e.answer {
		t.Errorf("answered %s\n   want  %s", got, e.answer)
	}
	if want := parseState(t, event, calendar, e.after); after != want {
		t.Errorf("afterwards (got -, want +):\n%s", cmp.Diff(after, want))
	}
}

// shorten leaves out of a result's text what the table leaves out.
func (e example) shorten(r meter.Result) string {
	left := r.Text()
	for _, field := range []string{"1", "f=" + r.Family, fmt.Sprint("lv=", r.LineVersion), fmt.Sprint("fv=", r.FamilyVersion), "g=" + string(r.Generation)} {
		left = strings.Replace(";"+left+";", ";"+field+";", ";", 1)
		left = strings.Trim(left, ";")
	}
	if e.when == "" {
		left = strings.TrimPrefix(left, "d=20260310;m=202603;")
	}
	return left
}

func (e example) parseEvent(t *testing.T) meter.Event {
	app, bytes, _ := strings.Cut(e.event, " ")
	return meter.Event{ID: "e-1", Line: "line", App: app, Bytes: number(t, bytes)}
}

func (e example) parseWhen(t *testing.T) (time.Time, meter.Calendar) {
	zone, anchor, stamp := "Europe/Berlin", int64(1), "2026-03-10T12:00:00+01:00"
	for i, word := range strings.Fields(e.when) {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case i == 0:
			stamp = word
		case name == "zone":
			zone = value
		case name == "anchor":
			anchor = number(t, value)
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC(), calendarOf(t, zone, int(anchor))
}

func calendarOf(t testing.TB, zone string, anchor int) meter.Calendar {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := meter.NewCalendar(location, anchor)
	if err != nil {
		t.Fatal(err)
	}
	return calendar
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// parsePolicies reads "3:cap=500 l3:cap=none 6:absent". Global policies that are not named say nothing, and the gate
// is open.
func parsePolicies(t testing.TB, calendar meter.Calendar, text string) meter.Policies {
	t.Helper()
	settings := map[string]string{"8": "open=yes"}
	for word := range strings.FieldsSeq(text) {
		number, setting, _ := strings.Cut(word, ":")
		settings[number] = setting
	}
	p := meter.Policies{Calendar: calendar}
	for _, id := range meter.AllPolicies() {
		if text := settings[id.String()]; text != "absent" {
			p.Global = p.Global.With(policy(t, id, text))
		}
		if text, ok := settings["l"+id.String()]; ok {
			p.Line = p.Line.With(policy(t, id, text))
		}
	}
	return p
}

func policy(t testing.TB, id meter.PolicyID, text string) meter.Policy {
	t.Helper()
	p, err := meter.ParsePolicy(id, 1, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// parseState reads "i=100 q=50 s=1000 day=300 app=100/200/0 dshared=200 mshared=200 v=1/1".
func parseState(t testing.TB, e meter.Event, calendar meter.Calendar, text string) meter.State {
	t.Helper()
	const generation = "9f3c41d2"
	day := calendar.Day(e.At)
	s := meter.State{
		Line: e.Line, App: e.App, Day: day, Month: calendar.MonthOf(day), Known: true, Generation: generation,
		Unit: meter.Unit{Generation: generation, Phase: meter.PhaseRows, Open: true, MonthOpen: true},
	}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		parts := strings.Split(value, "/")
		switch name {
		case "i":
			s.Individual.Granted, s.Individual.Amount = true, number(t, value)
		case "q":
			s.Individual.QoS = number(t, value)
		case "s":
			s.Family, s.Shared = "fam", meter.SharedAllowance{Granted: true, Amount: number(t, value)}
		case "family":
			s.Family = value
		case "day":
			s.DailyTotal = number(t, value)
		case "app":
			s.DailyApp = meter.AppUsage{Individual: number(t, parts[0]), Shared: number(t, parts[1]), QoS: number(t, parts[2])}
		case "dshared":
			s.DailyShared = parseShared(t, value, s.Family)
		case "mshared":
			s.MonthlyShared = parseShared(t, value, s.Family)
		case "v":
			s.LineVersion = number(t, parts[0])
			if len(parts) > 1 {
				s.FamilyVersion = number(t, parts[1])
			}
		default:
			setExceptional(t, &s, word)
		}
	}
	return s
}

// parseShared reads "5" or, with the family that it names, "5@other".
func parseShared(t testing.TB, text, family string) meter.SharedUsage {
	amount, named, ok := strings.Cut(text, "@")
	if ok {
		family = named
	}
	return meter.SharedUsage{Amount: number(t, amount), Family: family}
}

func setExceptional(t testing.TB, s *meter.State, word string) {
	switch word {
	case "unit=stale":
		s.Unit.Generation = "0000"
	case "unit=totals":
		s.Unit.Phase = meter.PhaseTotals
	case "unit=closed":
		s.Unit.Open = false
	case "month=closed":
		s.Unit.MonthOpen = false
	case "line=moved":
		s.Moved = true
	case "line=unknown":
		s.Known = false
	default:
		t.Fatalf("unknown word %q", word)
	}
}
