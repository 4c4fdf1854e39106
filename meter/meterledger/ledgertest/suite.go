// Package ledgertest is the conformance suite of the ledger: what has to hold on every server that it can be in.
package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// Server makes an empty database for a test and returns its DSN.
type Server func(t testing.TB) string

// Run runs the suite.
func Run(t *testing.T, server Server) {
	for name, test := range map[string]func(*testing.T, Server){
		"schema":             testSchema,
		"terms":              testTerms,
		"lines":              testLines,
		"ids are bytes":      testBytes,
		"policies":           testPolicies,
		"grants":             testGrants,
		"confirmations":      testConfirmations,
		"months":             testMonths,
		"months in parallel": testMonthsInParallel,
		"append":             testAppend,
		"largest amounts":    testLargest,
		"appending twice":    testAppendTwice,
		"two writers":        testTwoWriters,
		"generations":        testGenerations,
		"generation changes": testGenerationChanges,
		"changes":            testChanges,
		"fold":               testFold,
		"fold of a line":     testFoldOfALine,
		"two folds":          testTwoFolds,
		"fold is cut off":    testFoldCutOff,
		"late rows":          testLateRows,
		"held folds":         testHeldFolds,
		"ranges":             testRanges,
		"records":            testRecords,
		"move":               testMove,
		"purge":              testPurge,
		"inbox":              testInbox,
		"audit":              testAudit,
		"lost":               testLost,
		"history":            testHistory,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server)
		})
	}
}

// generation is the first one of every world.
const generation = meter.Generation("a1")

// March is the month that most happens in. noon is in it.
const march = meter.Month(202603)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// world is a ledger, and a model of the Redis beside it.
type world struct {
	*testing.T
	*meterledger.Ledger
	dsn      string
	book     *meter.Book
	policies meter.Policies
	events   int
}

// newWorld opens a ledger with two lines in one family, one in another and one in none, whose March is open.
func newWorld(t *testing.T, server Server) *world {
	t.Helper()
	w := emptyWorld(t, server)
	w.must(w.Import(t.Context(),
		[]meterledger.Family{{ID: "fam", Shared: 1000}, {ID: "kin", Shared: 1000}},
		[]meterledger.Line{
			{ID: "ann", Family: "fam", Individual: 100, QoS: 50}, {ID: "bob", Family: "fam", Individual: 100, QoS: 50},
			{ID: "cas", Individual: 100, QoS: 50}, {ID: "dot", Family: "kin", Individual: 100, QoS: 50},
		}, []string{"video", "chat"}))
	w.book = meter.NewBook(generation, map[string]string{"ann": "fam", "bob": "fam", "cas": "", "dot": "kin"})
	w.must(w.NewGeneration(t.Context(), "", generation, "suite", "first"))
	_, err := w.OpenMonth(t.Context(), march)
	w.must(err)
	w.deliver()
	return w
}

func emptyWorld(t *testing.T, server Server) *world {
	t.Helper()
	w := &world{T: t, dsn: server(t)}
	w.Ledger = w.open()
	for _, id := range meter.AllPolicies() {
		var fields []meter.Field
		if id == meter.Gate {
			fields = []meter.Field{{Name: "open", Value: "yes"}}
		}
		p, err := meter.NewPolicy(id, 1, fields...)
		w.must(err)
		w.policies.Global = w.policies.Global.With(p)
	}
	return w
}

// open opens the ledger once more.
func (w *world) open() *meterledger.Ledger {
	w.Helper()
	l, err := meterledger.Open(w.Context(), w.dsn, meterledger.Options{Migrate: true, MaxConns: 6})
	w.must(err)
	w.Cleanup(func() { _ = l.Close() })
	return l
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// deliver makes the grants in the model that are not known to be there, and confirms them.
func (w *world) deliver() {
	w.Helper()
	grants, err := w.UnconfirmedGrants(w.Context(), march, "", 1000)
	w.must(err)
	var all []meterledger.Confirmation
	for _, g := range grants {
		w.must(w.book.ApplyGrant(g.Grant, w.policies))
		version := w.book.LineVersions[g.Line]
		if g.Family != "" {
			version = w.book.FamilyVersions[g.Family]
		}
		all = append(all, meterledger.Confirmation{Grant: g.ID, Version: version})
	}
	w.must(w.ConfirmGrants(w.Context(), w.book.Generation, all))
}

// use decides an event in the model.
func (w *world) use(line, app string, bytes int64, at time.Time) meter.Row {
	w.Helper()
	w.events++
	row, err := w.book.Apply(meter.Event{ID: fmt.Sprintf("e-%d", w.events), Line: line, App: app, Bytes: bytes, At: at}, w.policies)
	w.must(err)
	return row
}

// some decides events of all lines, over some days.
func (w *world) some(n int) []meter.Row {
	w.Helper()
	rows := make([]meter.Row, n)
	for i := range rows {
		rows[i] = w.use([]string{"ann", "bob", "cas", "dot"}[i%4], []string{"video", "chat"}[i/4%2], int64(1+i%17), noon.Add(time.Duration(i%5)*24*time.Hour))
	}
	return rows
}

// append appends rows that are not there yet.
func (w *world) append(rows ...meter.Row) {
	w.Helper()
	answers, err := w.AppendDone(w.Context(), w.book.Generation, rows)
	w.must(err)
	for i, a := range answers {
		if a.Outcome != meterledger.Inserted {
			w.Fatalf("%s of %s is %v", rows[i].Event.ID, rows[i].Event.Line, a.Outcome)
		}
	}
}

func (w *world) fold() meterledger.Folded {
	w.Helper()
	f, err := w.Fold(w.Context(), meterledger.FoldOptions{Batch: 7})
	w.must(err)
	return f
}

// everything is the range of all units.
func everything() meterledger.Range { return meterledger.Range{} }

// check compares the state that follows from the ledger with the model, and the ledger with itself.
func (w *world) check() {
	w.Helper()
	held, err := w.Read(w.Context(), everything(), meterledger.Horizon{Months: meter.Span{First: 202601, Last: meter.LastMonth}, Day: 20260101})
	w.must(err)
	got, err := meter.Rebuild(held.Source)
	w.must(err)
	want := *w.book
	want.LineVersions, want.FamilyVersions = map[string]int64{}, map[string]int64{}
	got.LineVersions, got.FamilyVersions = map[string]int64{}, map[string]int64{}
	if d := cmp.Diff(&want, got); d != "" {
		w.Fatalf("the state that follows from the ledger, +, and the model, -:\n%s", d)
	}
	w.audited()
}

// audited audits everything and wants no difference.
func (w *world) audited() meterledger.Audit {
	w.Helper()
	a, err := w.Audit(w.Context(), everything())
	w.must(err)
	for _, d := range a.Differences() {
		w.Errorf("audit: %v", d)
	}
	return a
}
