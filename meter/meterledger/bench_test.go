package meterledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// BenchmarkAppend appends batches of rows of many lines, and then folds them. rows/s is what counts.
func BenchmarkAppend(b *testing.B) {
	for name, server := range map[string]func() string{
		"postgres": func() string { return servicetest.Postgres(b).Database(b) },
		"mariadb":  func() string { return servicetest.MariaDB(b).Database(b) },
	} {
		for _, size := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) { benchmarkAppend(b, server(), size) })
		}
	}
}

func benchmarkAppend(b *testing.B, dsn string, size int) {
	l, err := meterledger.Open(b.Context(), dsn, meterledger.Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if err := l.NewGeneration(b.Context(), "", "a1", "benchmark", "first"); err != nil {
		b.Fatal(err)
	}
	version := int64(0)
	for b.Loop() {
		rows := make([]meter.Row, size)
		for i := range rows {
			version++
			rows[i] = row(fmt.Sprintf("line-%d", version*7919%10_000), version)
		}
		if _, err := l.AppendDone(b.Context(), "a1", rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "rows/s")
	began := time.Now()
	f, err := l.Fold(b.Context(), meterledger.FoldOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(f.Rows)/time.Since(began).Seconds(), "folded/s")
}

// row is one of the done log, all of it individual.
func row(line string, version int64) meter.Row {
	return meter.Row{
		Event:  meter.Event{ID: fmt.Sprintf("event-%d", version), Line: line, App: "video", Bytes: 1000, At: time.Date(2026, 3, 10, 12, 0, 0, int(version)*1000, time.UTC)},
		Result: meter.Result{Split: meter.Split{Individual: 1000}, Day: 20260310, Month: 202603, Generation: "a1", LineVersion: version},
	}
}
