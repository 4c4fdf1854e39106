package meterledger_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/store"
)

// What Redis decided is appended, and the state in Redis follows from what is there.
func ExampleOpen() {
	ctx := context.Background()
	ledger, err := meterledger.Open(ctx, "postgres://app@127.0.0.1:1/meter?connect_timeout=5", meterledger.Options{Migrate: true}) // or mysql://…
	if err != nil {
		fmt.Println("nobody listens there:", store.Classify(err))
		return
	}
	defer ledger.Close()

	// Once: who there is, and a first Redis.
	line := meterledger.Line{ID: "+4915112345", Family: "smith", Individual: 5_000_000_000, QoS: 1_000_000_000}
	_ = ledger.Import(ctx, []meterledger.Family{{ID: "smith", Shared: 20_000_000_000}}, []meterledger.Line{line}, []string{"video"})
	_ = ledger.NewGeneration(ctx, "", "9f3c41d2", "operator", "first hydration")
	_, _ = ledger.OpenMonth(ctx, 202603)

	// Again and again: what was decided. The same may be appended any number of times.
	row := meter.Row{
		Event:  meter.Event{ID: "e-1", Line: line.ID, App: "video", Bytes: 1_048_576, At: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)},
		Result: meter.Result{Split: meter.Split{Individual: 1_048_576}, Day: 20260310, Month: 202603, Family: "smith", Generation: "9f3c41d2", LineVersion: 1},
	}
	answers, err := ledger.AppendDone(ctx, "9f3c41d2", []meter.Row{row})
	if err == nil {
		fmt.Println(answers[0].Outcome)
	}

	// Every day: the totals.
	folded, _ := ledger.Fold(ctx, meterledger.FoldOptions{})
	fmt.Println(folded.Rows)

	// When Redis is gone: all that it held.
	held, _ := ledger.Read(ctx, meterledger.Unit("f:smith"), meterledger.Horizon{Months: meter.Span{First: 202603, Last: meter.LastMonth}, Day: 20260310})
	book, _ := meter.Rebuild(held.Source)
	fmt.Println(book.Individual[meter.MonthKey{Owner: line.ID, Month: 202603}].Amount)
	// Output: nobody listens there: store unavailable
}
