package pipeline

import (
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
