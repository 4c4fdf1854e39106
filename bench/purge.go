package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// benchPurge measures the hot path at 64 callers while a million expired records are purged, against the
// same without, until all are gone.
func benchPurge(ctx context.Context, _ settings, t *table, p *postgres) error {
	const records = 1_000_000
	t.progress("pgstore: %d expired records", records)
	const fill = "INSERT INTO reprise.reprise_answered SELECT gen_random_uuid(), gen_random_uuid(), 1, i, repeat('r', 120)::bytea, repeat('a', 270)::bytea FROM generate_series(1, $1) i"
	if _, err := p.bare.pool.Exec(ctx, fill, records); err != nil {
		return err
	}
	purged, purging := 0, time.Duration(0)
	work := func() (float64, error) {
		return rateFor(ctx, 64, purgeTime, func() error { return operate(ctx, p.store) })
	}
	beside := func() (float64, error) {
		until, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			n, err := p.purge(until)
			purged += n
			done <- err
		}()
		purging += purgeTime
		rate, err := work()
		stop()
		return rate, errors.Join(err, <-done)
	}
	var ratios []float64
	for purged < records {
		medians, ratio, err := inTurns(2, beside, work)
		if err != nil {
			return err
		}
		ratios = append(ratios, ratio)
		t.progress("pgstore: %d purged, %s beside it, %s without", purged, thousands(medians.ours), thousands(medians.limit))
	}
	t.atLeast("pgstore, operations at 64 callers beside a purge", "without", median(ratios), 0.95, "×")
	t.info(fmt.Sprintf("pgstore, purged of %d, a second", records), "", number(float64(purged)/purging.Seconds()))
	return nil
}

// purgeTime is how long a round of it takes.
const purgeTime = 3 * time.Second

// purge purges until the context ends.
func (p *postgres) purge(ctx context.Context) (purged int, err error) {
	for ctx.Err() == nil {
		n, err := p.store.Purge(ctx, 10_000)
		purged += n
		if err != nil && ctx.Err() == nil {
			return purged, err
		}
	}
	return purged, nil
}
