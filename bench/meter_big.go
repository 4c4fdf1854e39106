package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// benchMeterBig compares a meter with a hundred times the lines and rows with a small one: an event costs the same in both. The
// large one has the number of rows that was asked for, of ten days a line.
func benchMeterBig(ctx context.Context, s settings, t *table) error {
	if s.big == 0 {
		return nil
	}
	const times, perLine = 100, 10
	return onMeter(ctx, "PostgreSQL", s.big/perLine/times, func(small *meterPlant) error {
		if err := small.fill(ctx, s.big/times, t); err != nil {
			return err
		}
		return onMeter(ctx, "PostgreSQL", s.big/perLine, func(large *meterPlant) error {
			if err := large.fill(ctx, s.big, t); err != nil {
				return err
			}
			return compareSizes(ctx, s, t, small, large)
		})
	})
}

// meterGrowth is how much dearer an event may be where everything is a hundred times as much: tables of keys and indexes are larger than
// the processor's caches then, which is no growth in steps.
const meterGrowth = 1.5

func compareSizes(ctx context.Context, s settings, t *table, small, large *meterPlant) error {
	what := fmt.Sprintf(" with %s lines and %s rows", number(float64(large.lines)), number(float64(s.big)))
	t.progress("meter: %d rounds of scripts%s", s.rounds, what)
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) { return large.serverTime(func() error { return large.deduct(ctx) }) },
		func() (float64, error) { return small.serverTime(func() error { return small.deduct(ctx) }) })
	if err != nil {
		return err
	}
	t.atMost(fmt.Sprintf("meter, the server's time for a deduction%s (%s µs)", what, number(medians.ours)),
		fmt.Sprintf("a hundredth of both (%s µs)", number(medians.limit)), ratio, meterGrowth, "×")

	t.progress("meter: %d rounds of events%s", s.rounds, what)
	rates := map[*meterPlant]func() (float64, error){}
	for _, p := range []*meterPlant{small, large} {
		serving, err := p.serve(ctx, s)
		if err != nil {
			return err
		}
		defer func() { _ = serving.stop() }() // its work is done
		streams, err := p.meter.OpenStreams(ctx, meterStreamLimit)
		if err != nil {
			return err
		}
		rates[p] = func() (float64, error) { return p.eventsRate(ctx, serving.address, streams) }
	}
	if medians, ratio, err = inTurns(s.rounds, rates[large], rates[small]); err != nil {
		return err
	}
	t.atLeast(fmt.Sprintf("meter, events from the intake to a row%s (%s)", what, thousands(medians.ours)),
		fmt.Sprintf("a hundredth of both (%s)", thousands(medians.limit)), ratio, 1/meterGrowth, "×")
	return nil
}

// fillDone adds rows of the last month that are folded, those of a line a day or more apart.
const fillDone = `INSERT INTO reprise.meter_done
SELECT 'line-' || i % $2, 'old-' || i, 'video', 1000, extract(epoch FROM at)::bigint * 1000000, sha256(int8send(i)), 1000, 0, 0, 0, 0, '', 0,
  to_char(at, 'YYYYMMDD')::int, to_char(at, 'YYYYMM')::int, '', 'old', i / $2 + 1, 0, extract(epoch FROM at)::bigint * 1000000, 1
FROM (SELECT i, now() - interval '5 days' - (i / $2) % 30 * interval '1 day' AS at FROM generate_series(0, $1::bigint - 1) AS i) AS rows`

// fill makes a done log of so many rows.
func (p *meterPlant) fill(ctx context.Context, rows int, t *table) (err error) {
	t.progress("meter: filling a done log with %d rows", rows)
	conn, err := pgx.Connect(ctx, p.sql)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	started := time.Now()
	if _, err := conn.Exec(ctx, fillDone, int64(rows), int64(p.lines)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE reprise.meter_done")
	t.info(fmt.Sprintf("meter, making %s rows of the done log", number(float64(rows))), "", time.Since(started).Round(time.Second).String())
	return err
}
