package meterrestore

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterrestore/restoretest"
	"github.com/reprise-dev/reprise/restore"
)

// TestRestoreAtScale restores ever more lines, of which half are in families. How long each phase takes, and what is in memory, is logged:
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
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 0)
	if err := restoretest.Populate(ctx, p.dsn, lines); err != nil {
		t.Fatal(err)
	}
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
	if found, err := sessions.Findings(ctx, session.ID, 0, 20); err != nil || len(found) > 0 { // also those that were put right
		t.Errorf("%+v, %v", found, err)
	}
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
