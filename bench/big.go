package main

import (
	"context"
	"fmt"
	"time"
)

// large fits a server to a database of several gigabytes: half a gigabyte of an index is touched all over,
// and with the WAL of a small server it would be copied there again and again.
var large = map[string]string{"shared_buffers": "2GB", "max_wal_size": "16GB"}

// benchBig compares operations again, with many records in both tables.
func benchBig(ctx context.Context, s settings, t *table) error {
	if s.big == 0 {
		return nil
	}
	return onPostgres(large, func(ctx context.Context, s settings, t *table, p *postgres) error {
		if err := p.fill(ctx, s.big, t); err != nil {
			return err
		}
		where := fmt.Sprintf(" beside %s records", number(float64(s.big)))
		c := postgresContender()
		for _, target := range c.operations {
			if err := c.benchOperations(ctx, s, t, where, p.contest(), target); err != nil {
				return err
			}
		}
		return c.benchReplays(ctx, s, t, where, p.contest(), target{64, 0.85})
	})(ctx, s, t)
}

// fill puts records into both tables. They are as large as those that are measured, and are made by the
// server.
func (p *postgres) fill(ctx context.Context, records int, t *table) error {
	if err := operate(ctx, p.store); err != nil {
		return err
	}
	started := time.Now()
	for _, statement := range []string{
		`INSERT INTO reprise.reprise_answered
SELECT gen_random_uuid(), gen_random_uuid(), claimed_at, forget_at + i, record, answer
FROM (SELECT * FROM reprise.reprise_answered LIMIT 1) AS one, generate_series(1, $1) AS i`,
		`INSERT INTO bare (digest, state, fingerprint, answer)
SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'), 2, repeat('f', 32)::bytea, repeat('answer: ', 32)::bytea
FROM generate_series(1, $1) AS i`,
	} {
		t.progress("pgstore: filling a table with %d records", records)
		if _, err := p.bare.pool.Exec(ctx, statement, records); err != nil {
			return err
		}
	}
	for _, statement := range []string{"VACUUM ANALYZE reprise.reprise_answered", "VACUUM ANALYZE bare"} {
		if _, err := p.bare.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	t.info(fmt.Sprintf("pgstore, making %s records in both tables", number(float64(records))), "", time.Since(started).Round(time.Second).String())
	return nil
}
