package ledgertest

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/store"
)

func testFold(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	if f := w.fold(); f != (meterledger.Folded{}) {
		t.Errorf("of nothing: %+v", f)
	}
	w.append(w.some(100)...)
	w.check()
	first, err := w.Fold(ctx, meterledger.FoldOptions{Through: 20260311, Batch: 7})
	if err != nil || first.Rows != 40 || first.Fold == 0 { // two of five days
		t.Fatalf("%+v, %v", first, err)
	}
	w.check()
	held, err := w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}, RecordLife: time.Hour})
	w.must(err)
	for _, r := range held.Folded {
		if r.Result.Day > 20260311 || r.Fold != first.Fold {
			t.Errorf("%+v is folded", r)
		}
	}
	second, err := w.Fold(ctx, meterledger.FoldOptions{Limit: 9, Batch: 4})
	if err != nil || second.Rows != 9 || second.Fold == first.Fold {
		t.Errorf("%+v, %v", second, err)
	}
	w.check()
	if f := w.fold(); f.Rows != 51 {
		t.Errorf("%+v", f)
	}
	w.check()
	if f := w.fold(); f.Rows != 0 {
		t.Errorf("again: %+v", f)
	}
	runs, err := w.Folds(ctx, 10)
	if err != nil || len(runs) != 3 || runs[2].Rows != 40 || runs[2].Through != 20260311 || runs[0].Ended.IsZero() {
		t.Errorf("%+v, %v", runs, err)
	}
}

// A fold of one line takes in all of its rows and no other's, however many those are.
func testFoldOfALine(t *testing.T, server Server) {
	w := newWorld(t, server)
	w.append(w.some(100)...) // 25 of each of four lines
	for _, line := range []string{"bob", "dot", "ann"} {
		f, err := w.Fold(t.Context(), meterledger.FoldOptions{Line: line, Batch: 7})
		if err != nil || f.Rows != 25 {
			t.Errorf("%s: %+v, %v", line, f, err)
		}
		w.check()
		changes, err := w.Changes(t.Context(), generation, []string{meter.UnitTag(line, "")}, meter.Span{})
		if c := changes[meter.UnitTag(line, "")]; err != nil || c.Unfolded != 0 {
			t.Errorf("%s: %+v, %v", line, c, err)
		}
	}
	if f := w.fold(); f.Rows != 25 {
		t.Errorf("the rest: %+v", f)
	}
}

// Folds that run at once take in each row once.
func testTwoFolds(t *testing.T, server Server) {
	w := newWorld(t, server)
	w.append(w.some(600)...)
	var running sync.WaitGroup
	var mu sync.Mutex
	sum := int64(0)
	for folder := range 3 {
		running.Go(func() {
			for { // rows that another one holds are left out, so it looks until there are none
				f, err := w.Fold(t.Context(), meterledger.FoldOptions{Batch: 5 + folder})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				sum += f.Rows
				done := sum == 600
				mu.Unlock()
				if f.Rows == 0 || done {
					return
				}
			}
		})
	}
	running.Wait()
	sum += w.fold().Rows
	if sum != 600 {
		t.Errorf("%d rows were taken in, of 600", sum)
	}
	w.check()
}

// A fold whose connections are cut anywhere, and whose context ends, leaves each row counted with its stamp or not at all,
// and goes on.
func testFoldCutOff(t *testing.T, server Server) {
	w := newWorld(t, server)
	w.append(w.some(300)...)
	there, err := url.Parse(w.dsn)
	w.must(err)
	proxy := faultnet.New(t, there.Host, faultnet.Raw())
	far, err := meterledger.Open(t.Context(), proxy.Through(w.dsn), meterledger.Options{MaxConns: 2})
	w.must(err)
	defer far.Close()
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for range 25 {
			if _, err := w.Folds(t.Context(), 1); err != nil { // some time passes
				t.Error(err)
			}
			proxy.CutAll()
		}
	})
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		var ending sync.WaitGroup
		ending.Go(func() {
			for range 5 {
				if _, err := w.Folds(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}
			cancel()
		})
		_, err := far.Fold(ctx, meterledger.FoldOptions{Batch: 3})
		ending.Wait()
		cancel()
		if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) {
			t.Fatal(err)
		}
		w.check()
	}
	cutting.Wait()
	w.fold()
	w.check()
}

// A row that commits after the rest of its day was folded is taken in by the next fold.
func testLateRows(t *testing.T, server Server) {
	w := newWorld(t, server)
	rows := w.some(60)
	w.append(rows[20:]...)
	w.fold()
	w.append(rows[:20]...)
	w.check()
	if f := w.fold(); f.Rows != 20 {
		t.Errorf("%+v", f)
	}
	w.check()
}

func testHeldFolds(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	w.append(w.some(30)...)
	for range 2 {
		w.must(w.HoldFolds(ctx, "session-1", 1, "restore"))
	}
	if err := w.HoldFolds(ctx, "session-2", 1, "restore"); !errors.Is(err, meterledger.ErrHeld) {
		t.Errorf("a second session: %v", err)
	}
	if _, err := w.Fold(ctx, meterledger.FoldOptions{}); !errors.Is(err, meterledger.ErrHeld) {
		t.Errorf("a fold beside a restore: %v", err)
	}
	if err := w.ReleaseFolds(ctx, "session-2", 1); !errors.Is(err, meterledger.ErrHeld) {
		t.Errorf("released by another: %v", err)
	}
	w.must(w.Fence(ctx, 2))
	for what, err := range map[string]error{
		"released": w.ReleaseFolds(ctx, "session-1", 1), "held": w.HoldFolds(ctx, "session-1", 1, "restore"), "fenced": w.Fence(ctx, 1),
	} {
		if !errors.Is(err, meterledger.ErrLate) {
			t.Errorf("%s by a process that is late: %v", what, err)
		}
	}
	for range 2 {
		if _, err := w.PutGate(ctx, 1, true, "me"); !errors.Is(err, meterledger.ErrLate) {
			t.Errorf("the gate was opened by a process that is late: %v", err)
		}
		gate, err := w.PutGate(ctx, 2, true, "me")
		if err != nil || gate.Version() != 2 || gate.Text() != "open=yes" {
			t.Errorf("%v, %v", gate, err)
		}
	}
	w.append(w.some(1)...) // rows are taken in all the same
	for range 2 {
		w.must(w.ReleaseFolds(ctx, "session-1", 2))
	}
	if f := w.fold(); f.Rows != 31 {
		t.Errorf("%+v", f)
	}
	// A restore that begins in the middle of a fold stops it between two batches.
	w.append(w.some(400)...)
	stopped := make(chan error)
	go func() {
		_, err := w.Fold(ctx, meterledger.FoldOptions{Batch: 1})
		stopped <- err
	}()
	w.must(w.HoldFolds(ctx, "session-3", 2, "restore"))
	before, err := w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}})
	w.must(err)
	if err := <-stopped; !errors.Is(err, meterledger.ErrHeld) {
		t.Errorf("the fold ended with %v", err)
	}
	after, err := w.Read(ctx, everything(), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}})
	if err != nil || len(before.Rows) != len(after.Rows) {
		t.Errorf("%d rows were not folded when the restore had begun, and %d are now: %v", len(before.Rows), len(after.Rows), err)
	}
	w.check()
}

// Whatever is done in whatever order, the state that follows is that of the model: grants, deductions that arrive out of
// order and twice, folds of parts, moves, a new generation.
func testHistory(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	var late []meter.Row
	for round := range 12 {
		rows := append(late, w.some(24+round)...)
		late = rows[:round%5]
		w.append(rows[round%5:]...)
		again, err := w.AppendDone(ctx, w.book.Generation, rows[round%5:])
		w.must(err)
		for _, a := range again {
			if a.Outcome != meterledger.Already {
				t.Fatalf("again: %v", a.Outcome)
			}
		}
		switch round % 3 {
		case 0:
			_, err := w.Fold(ctx, meterledger.FoldOptions{Batch: 4, Limit: int64(10 + round)})
			w.must(err)
		case 1:
			_, err := w.AddGrant(ctx, topUp("r"+string(rune('a'+round)), "", "fam", int64(round)))
			w.must(err)
			w.deliver()
		}
		w.append(late...)
		late = nil
		w.check()
		if round == 6 {
			w.must(w.NewGeneration(ctx, w.book.Generation, "b2", "suite", "lost"))
			w.book.Generation = "b2"
			w.book.LineVersions, w.book.FamilyVersions = map[string]int64{}, map[string]int64{}
		}
	}
	w.fold()
	w.check()
}
