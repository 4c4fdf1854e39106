package restore

import (
	"strings"
	"testing"
)

func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	whole := Target{From: "b", To: "f", Units: 4}
	for _, c := range []struct {
		parts []Target
		want  string
	}{
		{[]Target{{From: "b", To: "c", Units: 2}, {From: "c", To: "f", Units: 2}}, ""},
		{[]Target{{From: "b", To: "c", Units: 2}, {From: "d", To: "e", Units: 2}}, ""},
		{[]Target{{From: "b", To: "d", Units: 2}, {From: "c", To: "f", Units: 2}}, "before the end"},
		{[]Target{{From: "a", To: "c", Units: 2}, {From: "c", To: "f", Units: 2}}, "before the end"},
		{[]Target{{From: "b", To: "c", Units: 2}, {From: "c", To: "g", Units: 2}}, "after the whole"},
		{[]Target{{From: "b", To: "c", Units: 2}, {From: "c", Units: 2}}, "after the whole"},
		{[]Target{{From: "b", Units: 2}, {From: "c", To: "f", Units: 2}}, "before the end"},
		{[]Target{{From: "b", To: "c", Units: 2}, {From: "c", To: "f", Units: 1}}, "the parts have 3"},
		{[]Target{{From: "b", To: "c", Units: 0}, {From: "c", To: "f", Units: 4}}, "no units"},
	} {
		if got := wrongParts(whole, c.parts); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.parts, got, c.want)
		}
	}
	if got := wrongParts(Target{From: "b", Units: 2}, []Target{{From: "b", To: "c", Units: 1}, {From: "c", Units: 1}}); got != "" {
		t.Errorf("to the end of all keys: %q", got)
	}
}

// A list that overlaps, has a hole in its promise, or says what no server can keep, is refused before anything is noted of it.
func TestListsAreChecked(t *testing.T) {
	t.Parallel()
	p := Phase{Name: "base", listed: "c"}
	for _, c := range []struct {
		targets []Target
		last    bool
		want    string
	}{
		{[]Target{{From: "c", To: "d", Units: 1}, {From: "e", Units: 1}}, true, ""},
		{nil, true, ""},
		{nil, false, "incomplete"},
		{[]Target{{From: "b", To: "d", Units: 1}}, true, "units of another"},
		{[]Target{{From: "c", To: "e", Units: 1}, {From: "d", To: "f", Units: 1}}, true, "units of another"},
		{[]Target{{From: "c", Units: 1}}, false, "units of another"},
		{[]Target{{From: "c", Units: 1}, {From: "d", To: "e", Units: 1}}, true, "units of another"},
		{[]Target{{From: "d", To: "d", Units: 1}}, true, "ends where it begins"},
		{[]Target{{From: "c", To: "d"}}, true, "no units"},
		{[]Target{{From: "c\x00", To: "d", Units: 1}}, true, "NUL"},
		{[]Target{{From: "c", To: "\xff", Units: 1}}, true, "UTF-8"},
		{[]Target{{From: "c", To: strings.Repeat("d", 300), Units: 1}}, true, "too long"},
	} {
		got := ""
		if err := checkList(p, c.targets, c.last); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.targets, got, c.want)
		}
	}
}
