package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/pgstore"
)

// benchBusyKey measures operations on other keys while an effect is open on one key, of which duplicates
// arrive, against the same without.
func benchBusyKey(ctx context.Context, s settings, t *table, p *postgres) error {
	const callers, duplicates = 16, 10
	t.progress("pgstore: %d rounds beside an open effect", s.rounds)
	work := func() (float64, error) { return rate(ctx, callers, func() error { return operate(ctx, p.store) }) }
	beside := func() (operations float64, err error) {
		key := newBegin()
		_, effect := pgstore.Do(ctx, p.effects.pool, invocation(key), func(context.Context, pgx.Tx) (machine.Response, error) {
			ctx, stop := context.WithCancel(ctx)
			var group sync.WaitGroup
			for range duplicates {
				group.Go(func() { p.ask(ctx, key, 100*time.Millisecond) })
			}
			operations, err = work()
			stop()
			group.Wait()
			return machine.NewResponse("raw/1", nil), err
		})
		return operations, errors.Join(err, effect)
	}
	_, ratio, err := inTurns(s.rounds, beside, work)
	if err != nil {
		return err
	}
	t.atLeast("pgstore, operations at 16 callers beside an open effect with 100 duplicates a second", "without", ratio, 0.95, "×")
	return nil
}

// ask claims a key again and again, for as long as the context lives.
func (p *postgres) ask(ctx context.Context, key machine.Begin, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		duplicate := newBegin()
		duplicate.Scope = key.Scope
		_, _ = p.store.Apply(ctx, duplicate) // what it is told is for tests to look at
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
