package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

func identityOf(r meter.Row) meterledger.Identity {
	return meterledger.Identity{Line: r.Event.Line, Event: r.Event.ID}
}

func testAppend(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	rows := w.some(40)
	w.append(rows...)
	all := []meterledger.Identity{{Line: "ann", Event: "none"}}
	for _, r := range rows {
		all = append(all, identityOf(r))
	}
	found, err := w.LookupDone(ctx, all)
	w.must(err)
	if len(found) != len(rows) {
		t.Fatalf("%d rows of %d", len(found), len(rows))
	}
	for _, r := range rows {
		got := found[identityOf(r)]
		if d := cmp.Diff(r, got.Row); d != "" || got.Fold != 0 || got.RecordedAt.IsZero() {
			t.Fatalf("%+v\n%s", got, d)
		}
	}
	if answers, err := w.AppendDone(ctx, generation, nil); err != nil || len(answers) != 0 {
		t.Errorf("no rows: %v, %v", answers, err)
	}
	bad, other := rows[0], w.use("cas", "video", 1, noon)
	bad.Event.ID, bad.Result.Individual = "e-new", bad.Result.Individual+1
	if _, err := w.AppendDone(ctx, generation, []meter.Row{other, bad}); !errors.Is(err, meter.BadRow) {
		t.Errorf("a row that no deduction can have written: %v", err)
	}
	stranger := other
	stranger.Result.Generation = "b2"
	if _, err := w.AppendDone(ctx, generation, []meter.Row{other, stranger}); !errors.Is(err, meter.BadRow) {
		t.Errorf("a row of another generation: %v", err)
	}
	if found, err := w.LookupDone(ctx, []meterledger.Identity{identityOf(other)}); err != nil || len(found) > 0 {
		t.Errorf("of a batch that was refused there is %v, %v", found, err)
	}
	w.append(other)
	w.check()
}

// Amounts are exact up to 2^63 - 1, and sums beyond.
func testLargest(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	w.must(w.Import(ctx, nil, []meterledger.Line{{ID: "max", Individual: meter.MaxAmount}}, nil))
	w.book.Members["max"] = ""
	_, err := w.OpenMonth(ctx, march)
	w.must(err)
	w.deliver()
	rows := []meter.Row{
		w.use("max", "video", 1<<53+1, noon), w.use("max", "video", meter.MaxAmount, noon), w.use("max", "video", meter.MaxAmount, noon),
	}
	w.append(rows...)
	w.check()
	w.fold()
	w.check()
	found, err := w.LookupDone(ctx, []meterledger.Identity{identityOf(rows[1])})
	if got := found[identityOf(rows[1])]; err != nil || got.Row != rows[1] {
		t.Errorf("%+v, %v", got, err)
	}
	a := w.audited()
	blocked := a.Snapshots[meter.SnapshotKey{Line: "max", Month: march}].Blocked
	if _, ok := blocked.Amount(); ok || blocked.String() != "9232379236109516800" {
		t.Errorf("blocked are %v", blocked)
	}
}

// The same batch again changes nothing; the same event decided otherwise, or another of its id, is told apart.
func testAppendTwice(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	rows := w.some(12)
	w.append(rows[:6]...)
	otherwise, another := rows[0], rows[1]
	otherwise.Result.LineVersion += 100
	another.Event.At = another.Event.At.Add(time.Microsecond)
	answers, err := w.AppendDone(ctx, generation, append([]meter.Row{otherwise, another, rows[2], rows[7], rows[7]}, rows[6:]...))
	w.must(err)
	want := []meterledger.Appended{
		{Outcome: meterledger.DecidedOtherwise, Found: rows[0]}, {Outcome: meterledger.OtherEvent, Found: rows[1]}, {Outcome: meterledger.Already, Found: rows[2]},
		{}, {Outcome: meterledger.Already, Found: rows[7]},
		{}, {Outcome: meterledger.Already, Found: rows[7]}, {}, {}, {}, {},
	}
	if d := cmp.Diff(want, answers); d != "" {
		t.Error(d)
	}
	w.check()
	w.fold()
	answers, err = w.AppendDone(ctx, generation, rows)
	w.must(err)
	if slices.ContainsFunc(answers, func(a meterledger.Appended) bool { return a.Outcome != meterledger.Already }) {
		t.Errorf("after a fold: %v", answers)
	}
	w.check()
}

// Writers whose batches overlap insert each row once.
func testTwoWriters(t *testing.T, server Server) {
	w := newWorld(t, server)
	rows := w.some(400)
	var mu sync.Mutex
	inserted := map[meterledger.Identity]int{}
	var running sync.WaitGroup
	for writer := range 4 {
		running.Go(func() {
			mine := slices.Clone(rows)
			if writer%2 == 1 {
				slices.Reverse(mine)
			}
			for batch := range slices.Chunk(mine, 60+writer) {
				answers, err := w.AppendDone(t.Context(), generation, batch)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for i, a := range answers {
					if a.Outcome == meterledger.Inserted {
						inserted[identityOf(batch[i])]++
					} else if a.Outcome != meterledger.Already {
						t.Errorf("%s is %v", batch[i].Event.ID, a.Outcome)
					}
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	for _, r := range rows {
		if n := inserted[identityOf(r)]; n != 1 {
			t.Errorf("%s was inserted %d times", r.Event.ID, n)
		}
	}
	w.check()
}

func testGenerations(t *testing.T, server Server) {
	w := emptyWorld(t, server)
	ctx := t.Context()
	if g, err := w.Generation(ctx); g != "" || err != nil {
		t.Errorf("%q, %v", g, err)
	}
	for _, c := range []struct {
		seen, next meter.Generation
		why        string
		want       error
	}{
		{"", "a1", "first", nil}, {"", "a1", "again", nil}, {"", "b2", "not seen", meterledger.ErrConflict},
		{"a1", "b2", "lost", nil}, {"b2", "a1", "comes back", meterledger.ErrConflict}, {"b2", "c3", "lost again", nil},
	} {
		if err := w.NewGeneration(ctx, c.seen, c.next, "suite", c.why); !errors.Is(err, c.want) {
			t.Errorf("from %q to %q: %v", c.seen, c.next, err)
		}
	}
	if err := w.NewGeneration(ctx, "c3", "no hex", "suite", "why"); err == nil {
		t.Error("a generation that is none was begun")
	}
	if err := w.NewGeneration(ctx, "c3", "d4", "", ""); err == nil {
		t.Error("nobody began a generation")
	}
	if g, err := w.Generation(ctx); g != "c3" || err != nil {
		t.Errorf("%q, %v", g, err)
	}
}

// While writers append, a new generation begins: after that, nothing of the old one is added, and what was answered
// as inserted is there.
func testGenerationChanges(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	rows := w.some(4000)
	const writers = 4
	started := make(chan struct{}, writers)
	var mu sync.Mutex
	var acknowledged []meterledger.Identity
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			first := true
			for batch := range slices.Chunk(rows[writer*1000:(writer+1)*1000], 10) {
				_, err := w.AppendDone(ctx, generation, batch)
				if first {
					started <- struct{}{}
					first = false
				}
				if errors.Is(err, meterledger.ErrOldGeneration) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, r := range batch {
					acknowledged = append(acknowledged, identityOf(r))
				}
				mu.Unlock()
			}
		})
	}
	for range writers {
		<-started
	}
	w.must(w.NewGeneration(ctx, generation, "b2", "suite", "lost"))
	count := func() int {
		held, err := w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}})
		w.must(err)
		return len(held.Rows)
	}
	after := count()
	running.Wait()
	if _, err := w.AppendDone(ctx, generation, rows[:1]); !errors.Is(err, meterledger.ErrOldGeneration) {
		t.Errorf("a late writer: %v", err)
	}
	if n := count(); n != after || n != len(acknowledged) {
		t.Errorf("%d rows when the generation had begun, %d now, %d were acknowledged", after, n, len(acknowledged))
	}
	found, err := w.LookupDone(ctx, acknowledged)
	if err != nil || len(found) != len(acknowledged) {
		t.Errorf("%d of %d acknowledged rows are there: %v", len(found), len(acknowledged), err)
	}
}

// What is held of a line's changes is counted without the log: folded or not, grants included.
func testChanges(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	rows := w.some(200)
	owners := []string{"l:ann", "l:bob", "l:cas", "l:dot", "f:fam", "f:kin", "l:nobody"}
	want := func(what string) {
		t.Helper()
		all, err := w.Changes(ctx, generation, owners, meter.Span{})
		w.must(err)
		for _, owner := range owners {
			version := w.book.LineVersions[owner[2:]]
			if owner[:2] == "f:" {
				version = w.book.FamilyVersions[owner[2:]]
			}
			if c := all[owner]; c.Highest != version || !c.GapFree() {
				t.Errorf("%s: %s has %+v, and version %d", what, owner, c, version)
			}
		}
	}
	w.append(rows[:100]...)
	w.append(rows[101:]...)
	all, err := w.Changes(ctx, generation, []string{"l:" + rows[100].Event.Line}, meter.Span{})
	if c := all["l:"+rows[100].Event.Line]; err != nil || c.GapFree() || c.Count != c.Highest-1 {
		t.Errorf("a row is missing: %+v, %v", c, err)
	}
	w.append(rows[100])
	want("nothing folded")
	_, err = w.Fold(ctx, meterledger.FoldOptions{Batch: 13, Limit: 77})
	w.must(err)
	want("a part folded")
	w.fold()
	want("all folded")
	if all, err := w.Changes(ctx, "b2", owners, meter.Span{}); err != nil || all["l:ann"].Count != 0 || all["f:fam"].Highest != 0 {
		t.Errorf("of another generation: %+v, %v", all, err)
	}
}
