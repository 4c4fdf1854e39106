package meterrestore

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// rowsOfLine is how many rows of the done log each line has, of three days; a third of them no fold has taken in.
const rowsOfLine = 3

// TestRestoreAtScale restores ever more lines, each in a family of ten or in none. How long each phase takes, and what is in memory, is logged:
// the time grows with the number of lines, and the memory does not.
func TestRestoreAtScale(t *testing.T) {
	sizes := []int{2_000}
	if proving() {
		sizes = []int{10_000, 100_000, 1_000_000}
	}
	for _, lines := range sizes {
		t.Run(fmt.Sprint(lines), func(t *testing.T) { restoreAtScale(t, lines) })
	}
}

func restoreAtScale(t *testing.T, lines int) {
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 2)
	p.lines = lines
	p.settle()
	p.populate(ctx)
	p.server.FlushAll()
	sessions := p.sessions()
	r := restore.New(sessions, p.plan(), restore.Options{Name: "scale", Workers: 2})
	session, _, err := r.Start(ctx, restore.Request{Who: "test", Why: "Redis was emptied"})
	if err != nil {
		t.Fatal(err)
	}
	begun, stop := time.Now(), p.heap()
	done, err := r.Work(ctx)
	took, most := time.Since(begun), stop()
	if err != nil || done.State != restore.Finished || done.Round != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	progress, err := sessions.Progress(ctx, session.ID)
	if err != nil || len(progress.Findings) > 0 {
		t.Errorf("%v, %v", progress.Findings, err)
	}
	for _, phase := range progress.Phases {
		d := phase.FinishedAt.Sub(phase.StartedAt)
		t.Logf("%-14s %d units in %v, %.0f lines a second", phase.Name, phase.UnitsDone, d.Round(time.Millisecond), float64(lines)/d.Seconds())
	}
	t.Logf("%d lines restored and verified in %v; %d MiB in memory at most", lines, took.Round(time.Millisecond), most>>20)
}

// heap looks at the memory of this process until stop, which returns the most that was in use.
func (p *plant) heap() (stop func() uint64) {
	ended, result := make(chan struct{}), make(chan uint64)
	go func() {
		again := time.NewTicker(200 * time.Millisecond)
		defer again.Stop()
		most := uint64(0)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-again.C:
			case <-ended:
				result <- most
				return
			}
		}
	}()
	return func() uint64 {
		close(ended)
		return <-result
	}
}

// settle imports lines and families, and opens the months.
func (p *plant) settle() {
	p.t.Helper()
	var families []meterledger.Family
	var all []meterledger.Line
	for i := range p.lines {
		line := meterledger.Line{ID: fmt.Sprintf("scale-%07d", i), Individual: 1_000_000, QoS: 5000}
		if i%20 < 10 {
			line.Family = fmt.Sprintf("scale-%06d", i/20)
			if i%20 == 0 {
				families = append(families, meterledger.Family{ID: line.Family, Shared: 30_000})
			}
		}
		all = append(all, line)
	}
	p.must(p.ledger.Import(p.t.Context(), families, all, nil))
	if _, err := p.keeper().OpenMonths(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// populate writes the done log, as workers do.
func (p *plant) populate(ctx context.Context) {
	p.t.Helper()
	g, err := p.ledger.Generation(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	now := time.Now().Truncate(time.Microsecond)
	for n := range rowsOfLine {
		if n == rowsOfLine-1 {
			if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); err != nil {
				p.t.Fatal(err)
			}
		}
		at := now.AddDate(0, 0, -(n % 2))
		var rows []meter.Row
		for i := range p.lines {
			line, family := fmt.Sprintf("scale-%07d", i), ""
			if i%20 < 10 {
				family = fmt.Sprintf("scale-%06d", i/20)
			}
			day := meter.Calendar{}.Day(at)
			rows = append(rows, meter.Row{
				Event:  meter.Event{ID: fmt.Sprint("e-", n), Line: line, App: "video", Bytes: 100, At: at},
				Result: meter.Result{Split: meter.Split{Individual: 100}, Day: day, Month: meter.Calendar{}.MonthOf(day), Family: family, Generation: g, LineVersion: int64(n + 1)},
			})
			if len(rows) == meterledger.MaxBatch || i == p.lines-1 {
				if _, err := p.ledger.AppendDone(ctx, g, rows); err != nil {
					p.t.Fatal(err)
				}
				rows = nil
			}
		}
	}
}
