package meter_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/metertest"
)

// history is a meter at work, and beside it what SQL would hold.
type history struct {
	*rapid.T
	test     *testing.T
	book     *meter.Book
	cases    *metertest.Cases
	calendar meter.Calendar
	lines    []string
	grants   []meter.Grant
	folded   meter.Folded
	rows     []meter.Row // not folded
	all      []meter.Row
	made     map[string]int64 // changes in this generation, by the tag of line or family
}

func newHistory(t *testing.T, r *rapid.T) *history {
	calendar := calendarOf(t, rapid.SampledFrom(zones[:]).Draw(r, "zone"), rapid.IntRange(1, 31).Draw(r, "anchor"))
	members := map[string]string{"ann": "fam", "bob": "fam", "cas": "", "dot": "kin"}
	h := &history{
		T: r, test: t, book: meter.NewBook("1", members), calendar: calendar, lines: slices.Sorted(maps.Keys(members)), made: map[string]int64{},
		cases: metertest.NewCases(rapid.Uint64().Draw(r, "seed"), calendar),
	}
	for _, month := range calendar.Months(h.begin(), h.begin().Add(40*24*time.Hour)) {
		for _, line := range h.lines {
			h.grant(meter.Grant{Kind: meter.Monthly, Line: line, Month: month, Individual: h.amount(), QoS: h.amount()})
		}
		for _, family := range []string{"fam", "kin"} {
			h.grant(meter.Grant{Kind: meter.Monthly, Family: family, Month: month, Shared: h.amount()})
		}
	}
	return h
}

func (h *history) begin() time.Time { return time.Date(2026, 2, 25, 12, 0, 0, 0, time.UTC) }

func (h *history) amount() int64 {
	return rapid.SampledFrom([]int64{0, 10, 100, 1000, 1 << 53, meter.MaxAmount}).Draw(h.T, "amount")
}

func (h *history) line() string { return rapid.SampledFrom(h.lines).Draw(h.T, "line") }

// grant makes a grant, if it may be made.
func (h *history) grant(g meter.Grant) {
	g.ID = fmt.Sprintf("g-%d", len(h.grants))
	if err := meter.CheckGrant(h.grants, g); err != nil {
		if !errors.Is(err, meter.Overflow) && !errors.Is(err, meter.BadGrant) {
			h.Fatal(err)
		}
		return
	}
	if err := h.book.ApplyGrant(g, h.policies("")); err != nil {
		h.Fatalf("%+v: %v", g, err)
	}
	h.grants = append(h.grants, g)
	h.made[meter.UnitTag(g.Line, g.Family)]++
}

func (h *history) policies(text string) meter.Policies {
	return parsePolicies(h.test, h.calendar, text)
}

// use decides an event, under policies of its own.
func (h *history) use() {
	policies, err := h.cases.Policies()
	if err != nil {
		h.Fatal(err)
	}
	if rapid.Bool().Draw(h.T, "no policies") {
		policies = h.policies("")
	}
	e := meter.Event{
		ID: fmt.Sprintf("e-%d", len(h.all)), Line: h.line(), App: rapid.SampledFrom([]string{"video", "chat"}).Draw(h.T, "app"),
		Bytes: max(1, h.amount()),
		At:    h.begin().Add(time.Duration(rapid.IntRange(0, 8*24).Draw(h.T, "hour")) * time.Hour),
	}
	row, err := h.book.Apply(e, policies)
	if errors.Is(err, meter.Overflow) {
		return
	}
	if err != nil {
		h.Fatal(err)
	}
	h.rows, h.all = append(h.rows, row), append(h.all, row)
	h.made["l:"+e.Line]++
	if h.book.LineVersions[e.Line] != row.Result.LineVersion {
		h.Fatalf("%q, and the line has version %d", row.Result.Text(), h.book.LineVersions[e.Line])
	}
	if row.Result.Shared > 0 {
		h.made["f:"+row.Result.Family]++
	}
}

// fold takes in some of the rows, and all of those of a line if it is named.
func (h *history) fold(line string) {
	var taken, left []meter.Row
	for _, row := range h.rows {
		if line == row.Event.Line || rapid.Bool().Draw(h.T, "folded") {
			taken = append(taken, row)
		} else {
			left = append(left, row)
		}
	}
	f, err := meter.Fold(taken)
	if err != nil {
		h.Fatal(err)
	}
	h.folded, h.rows = f.Plus(h.folded), left
}

// rebuild makes the state from what SQL holds, in any order.
func (h *history) rebuild(generation meter.Generation, members map[string]string) *meter.Book {
	b, err := meter.Rebuild(meter.Source{
		Generation: generation, Members: members, Folded: h.folded,
		Grants: rapid.Permutation(h.grants).Draw(h.T, "grants"), Rows: rapid.Permutation(h.rows).Draw(h.T, "rows"),
	})
	if err != nil {
		h.Fatal(err)
	}
	return b
}

// check compares the state with one that is made from SQL.
func (h *history) check() {
	rebuilt := h.rebuild(h.book.Generation, h.book.Members)
	for line := range h.book.Members {
		if h.book.LineVersions[line] != h.made["l:"+line] {
			h.Fatalf("line %s has version %d after %d changes", line, h.book.LineVersions[line], h.made["l:"+line])
		}
	}
	for family, version := range h.book.FamilyVersions {
		if version != h.made["f:"+family] {
			h.Fatalf("family %s has version %d after %d changes", family, version, h.made["f:"+family])
		}
	}
	rebuilt.LineVersions, rebuilt.FamilyVersions = h.book.LineVersions, h.book.FamilyVersions
	if diff := cmp.Diff(h.book, rebuilt); diff != "" {
		h.Fatalf("what was decided (-) and what follows from SQL (+) differ:\n%s", diff)
	}
}

// move puts a line into another family, as it is done in Redis: its rows are folded, and its keys made from SQL in
// a generation in which versions begin again.
func (h *history) move() {
	line := h.line()
	h.fold(line)
	members := maps.Clone(h.book.Members)
	members[line] = rapid.SampledFrom([]string{"", "fam", "kin"}).Draw(h.T, "family")
	h.book = h.rebuild(h.book.Generation+"0", members)
	h.made = map[string]int64{}
}

// TestStateFollowsFromSQL: whatever happens, in whatever order rows are folded and applied, the state follows from
// grants, folded rows and rows that are not folded, to the byte.
func TestStateFollowsFromSQL(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(t, r)
		for range rapid.IntRange(0, 40).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"use", "use", "use", "use", "use", "use", "grant", "fold", "move"}).Draw(r, "step") {
			case "use":
				h.use()
			case "fold":
				h.fold("")
			case "move":
				h.move()
			case "grant":
				g := meter.Grant{Kind: meter.TopUp, Line: h.line(), Month: 202603, Individual: h.amount(), QoS: h.amount()}
				if family := h.book.Members[g.Line]; family != "" && rapid.Bool().Draw(r, "to the family") {
					g = meter.Grant{Kind: meter.TopUp, Family: family, Month: 202603, Shared: h.amount()}
				}
				if h.calendar.Month(h.begin()) <= g.Month {
					h.grant(g)
				}
			}
		}
		h.check()
		h.checkGranted()
		h.fold("")
		h.check()
	})
}

// checkGranted: what was served is what was granted less what is left, one account at a time.
func (h *history) checkGranted() {
	left, used := map[string]meter.Wide{}, map[string]meter.Wide{}
	add := func(sums map[string]meter.Wide, name string, month meter.Month, amount int64) {
		key := fmt.Sprint(name, month)
		sums[key] = sums[key].Plus(meter.WideOf(amount))
	}
	for _, row := range h.all {
		add(used, "individual "+row.Event.Line, row.Result.Month, row.Result.Individual)
		add(used, "qos "+row.Event.Line, row.Result.Month, row.Result.QoS)
		add(used, "shared "+row.Result.Family, row.Result.Month, row.Result.Shared)
	}
	for key, a := range h.book.Individual {
		add(left, "individual "+key.Owner, key.Month, a.Amount)
		add(left, "qos "+key.Owner, key.Month, a.QoS)
	}
	for key, a := range h.book.Shared {
		add(left, "shared "+key.Owner, key.Month, a.Amount)
	}
	for _, g := range h.grants {
		for name, amount := range map[string]int64{"individual " + g.Line: g.Individual, "qos " + g.Line: g.QoS, "shared " + g.Family: g.Shared} {
			key := fmt.Sprint(name, g.Month)
			var ok bool
			total := used[key].Plus(left[key])
			if total, ok = total.Minus(meter.WideOf(amount)); !ok {
				h.Fatalf("%s: less was used and is left than was granted", key)
			}
			used[key], left[key] = total, meter.Wide{}
		}
	}
	for key, more := range used {
		if more != (meter.Wide{}) {
			h.Fatalf("%s: %v more was served than was granted", key, more)
		}
	}
}
