package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// What is purged is gone from the log alone: state, changes and audit are as before, and a row of a purged day is not added
// again.
func testPurge(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	rows := w.some(100)
	w.append(rows...)
	if n, err := w.PurgeDone(ctx, meterledger.Purge{Through: 20260301, RecordedBefore: time.Now().Add(time.Hour)}); n != 0 || err != nil {
		t.Errorf("before the first day %d, %v", n, err)
	}
	if n, err := w.PurgeDone(ctx, meterledger.Purge{}); err == nil {
		t.Errorf("without a day %d", n)
	}
	_, err := w.Fold(ctx, meterledger.FoldOptions{Through: 20260310})
	w.must(err)
	before := w.audited()
	purge := meterledger.Purge{Through: 20260311, RecordedBefore: time.Now().Add(time.Hour), Batch: 6}
	if n, err := w.PurgeDone(ctx, purge); n != 20 || err != nil { // of two days, one is folded
		t.Errorf("%d, %v", n, err)
	}
	w.check()
	purge.RecordedBefore = time.Now().Add(-time.Hour)
	w.fold()
	if n, err := w.PurgeDone(ctx, purge); n != 0 || err != nil {
		t.Errorf("of rows that are too young %d, %v", n, err)
	}
	purge.RecordedBefore = time.Now().Add(time.Hour)
	w.must(w.HoldFolds(ctx, "session", 1, "restore"))
	if n, err := w.PurgeDone(ctx, purge); n != 0 || !errors.Is(err, meterledger.ErrHeld) {
		t.Errorf("during a restore %d, %v", n, err)
	}
	w.must(w.ReleaseFolds(ctx, "session", 1))
	for _, want := range []int64{20, 0} {
		if n, err := w.PurgeDone(ctx, purge); n != want || err != nil {
			t.Errorf("%d, want %d, %v", n, want, err)
		}
	}
	after := w.audited()
	for account, left := range before.Left() {
		if after.Left()[account] != left {
			t.Errorf("%+v has %v left, and had %v", account, after.Left()[account], left)
		}
	}
	all, err := w.Changes(ctx, generation, []string{"l:ann", "f:fam"}, meter.Span{})
	if err != nil || all["l:ann"].Count != w.book.LineVersions["ann"] || !all["f:fam"].GapFree() {
		t.Errorf("%+v, %v", all, err)
	}
	kept := rows[3] // of the 13th; rows[0] is of the 10th
	late := w.use("cas", "video", 1, noon)
	answers, err := w.AppendDone(ctx, generation, []meter.Row{late, rows[0], kept})
	w.must(err)
	for i, want := range []meterledger.Outcome{meterledger.Purged, meterledger.Purged, meterledger.Already} {
		if answers[i].Outcome != want {
			t.Errorf("row %d is %v, want %v", i, answers[i].Outcome, want)
		}
	}
}
