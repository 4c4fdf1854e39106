package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// At midnight in the configured zone a month ends under load: each event counts in the month in which it happened, whenever it
// arrives.
func TestMonthEndsUnderLoad(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := meter.NewCalendar(zone, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &plant{
		t: t, redis: servicetest.Redis(t).Database(t), calendar: calendar,
		horizon: meter.Horizon{Retention: 40 * 24 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead},
	}
	p.build(servicetest.Postgres(t).Database(t), 20)
	first, second := p.work(), p.work()
	defer first()
	defer second()
	midnight, _ := calendar.MonthBounds(calendar.Month(time.Now()))
	in := p.intake(false)
	var all []meter.Event
	for second := range 6 {
		now := midnight.Add(time.Duration(second-3) * time.Second)
		var events []meter.Event
		for range 100 { // most are of now, some are late and some of a clock that is ahead
			e := p.event(len(all) + len(events))
			e.At = now.Add(time.Duration(rand.IntN(6_000_000)-3_000_000) * time.Microsecond)
			events = append(events, e)
		}
		receipts, err := in.Accept(t.Context(), now, events)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range receipts {
			p.must(r.Err)
		}
		all = append(all, events...)
	}
	months := map[meter.Month]int{}
	for id, row := range p.rows(all) {
		day, month := calendar.Day(midnight), calendar.Month(midnight)
		if row.Event.At.Before(midnight) {
			day, month = day.Previous(), month.Previous()
		}
		if row.Result.Day != day || row.Result.Month != month {
			t.Errorf("%v happened at %v and counts on %v in %v", id, row.Event.At, row.Result.Day, row.Result.Month)
		}
		months[row.Result.Month]++
	}
	if len(months) != 2 {
		t.Errorf("events of %v", months)
	}
	p.drained()
	p.auditOn(calendar.Day(midnight))
	p.auditOn(calendar.Day(midnight).Previous())
}

// Grants of a month that is not due wait in SQL: they hold nothing up, and neither a move nor a new generation counts them before their time.
func TestGrantsOfALaterMonthWait(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 8)
		ctx := t.Context()
		stop := p.work()
		defer func() { stop() }()
		later := p.calendar.Month(time.Now()).Next().Next()
		for _, line := range []string{"line-0", "line-1"} {
			if _, err := p.ledger.AddGrant(ctx, meter.Grant{ID: "early:" + line, Kind: meter.TopUp, Line: line, Month: later, Individual: 7}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.ledger.OpenMonth(ctx, later); err != nil {
			t.Fatal(err)
		}
		var refusal *meter.Refusal
		if _, err := p.keeper().Bring(ctx, "early:line-1"); !errors.As(err, &refusal) || refusal.Reason != meter.MonthNotOpen {
			t.Errorf("before its month is due: %v", err)
		}
		if _, err := p.keeper().Confirm(ctx); err != nil {
			t.Fatal(err)
		}
		patient, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := p.mover().Move(patient, "line-0", "family-1"); err != nil {
			t.Fatal(err)
		}
		again := p.hydration()
		again.Renew = true
		if _, err := Hydrate(ctx, again); err != nil {
			t.Fatal(err)
		}
		stop()
		p.open()
		stop = p.work()
		p.horizon.Ahead = 100 * 24 * time.Hour // it is due now
		if _, err := p.keeper().OpenMonths(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the month's grant, and what comes on top
			if _, err := p.keeper().Confirm(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for line, family := range map[string]string{"line-0": "family-1", "line-1": ""} {
			got, err := p.meter.State(ctx, line, family, "video", 0, later)
			if err != nil || !got.Individual.Granted || got.Individual.Amount != 20_007 {
				t.Errorf("line %s: %+v, %v", line, got.Individual, err)
			}
		}
	})
}
