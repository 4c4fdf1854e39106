package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/pgstore"
)

// benchEffects compares pgstore.Do, with one business row, with the same written by hand and with the row
// alone. Each side has the pool that serves it best.
func benchEffects(ctx context.Context, s settings, t *table, p *postgres) error {
	effect := func() error { return p.effect(ctx) }
	const what, byHand, alone = "Do with one row", "by hand in three round trips", "the row alone"
	for _, m := range []struct {
		against string
		target  target
		limit   func(context.Context) error
	}{
		{byHand, target{1, 0.9}, p.bare.guardedOrder},
		{byHand, target{64, 0.9}, p.bare.guardedOrder},
		{alone, target{64, 0.35}, p.bare.order},
	} {
		how, err := p.effects.tune(ctx, m.target.callers, effect)
		if err != nil {
			return err
		}
		err = postgresContender().compare(ctx, s, t, what+" on "+how, m.against, p.contest(), m.target,
			effect, func() error { return m.limit(ctx) })
		if err != nil {
			return err
		}
	}
	return nil
}

// effect places an order under a fresh key.
func (p *postgres) effect(ctx context.Context) error {
	_, err := pgstore.Do(ctx, p.effects.pool, invocation(newBegin()), func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
		_, err := tx.Exec(ctx, bareOrder, "a book")
		return machine.NewResponse("raw/1", answer256), err
	})
	return err
}

// invocation is what a guard would prepare for a begin.
func invocation(begin machine.Begin) *store.Invocation {
	return &store.Invocation{
		Candidates: []store.Candidate{{Scope: begin.Scope}}, Owner: begin.Owner, Operation: begin.Operation, Nonce: begin.Nonce,
		Fingerprints: begin.Fingerprints, Codecs: begin.Codecs, Policy: begin.Policy, Lease: begin.Lease,
		Window: time.Hour, Remember: time.Hour, Retryable: time.Hour,
	}
}
