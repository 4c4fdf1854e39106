package main

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store/pgstore"
)

// postgres is a PostgreSQL server of our own, with a store and the limit in one database. It is fully
// durable, and set as it comes but for the number of connections and what a part asks for.
type postgres struct {
	host    *host
	store   *pgstore.Store
	effects *pools // that effects use
	bare    bareStatements
}

func startPostgres(ctx context.Context, set map[string]string) (p *postgres, err error) {
	p = &postgres{host: &host{ctx: ctx}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	var dsn string
	err = p.host.try(func() {
		server := servicetest.NewPostgres(p.host, servicetest.PostgresOptions{MaxConnections: 400, Settings: set})
		dsn = server.Database(p.host)
	})
	if err != nil {
		return p, err
	}
	if p.store, err = pgstore.Open(ctx, dsn, pgstore.Options{Migrate: true}); err != nil {
		return p, err
	}
	if p.effects, err = openPools(ctx, dsn); err != nil {
		return p, err
	}
	p.bare, err = openBare(ctx, dsn)
	return p, err
}

func (p *postgres) close() error {
	var failures []error
	if p.store != nil {
		failures = append(failures, p.store.Close())
	}
	for _, pools := range []*pools{p.effects, p.bare.pools} {
		if pools != nil {
			failures = append(failures, pools.Close())
		}
	}
	return errors.Join(append(failures, p.host.end())...)
}

// onPostgres makes a part of something that needs a server, with some settings.
func onPostgres(set map[string]string, run func(ctx context.Context, s settings, t *table, p *postgres) error) func(context.Context, settings, *table) error {
	return func(ctx context.Context, s settings, t *table) (err error) {
		p, err := startPostgres(ctx, set)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		return run(ctx, s, t, p)
	}
}

// openPostgres is the contender's.
func openPostgres(ctx context.Context, _ string) (contest, error) {
	p, err := startPostgres(ctx, nil)
	return p.contest(), err
}

func (p *postgres) contest() contest { return contest{ours: p.store, limit: p.bare, close: p.close} }

// benchSize measures what a completed record takes with its indexes.
func benchSize(ctx context.Context, _ settings, t *table, p *postgres) error {
	const records = 50_000
	before, err := p.answered(ctx)
	if err != nil {
		return err
	}
	t.progress("pgstore: %d records, for their size", records)
	if err := times(records, 256, func() error { return operate(ctx, p.store) }); err != nil {
		return err
	}
	after, err := p.answered(ctx)
	if err != nil {
		return err
	}
	t.atMost("pgstore, a completed record with its indexes", "256 bytes of answer", (after.bytes-before.bytes)/(after.rows-before.rows), 620, " bytes")
	return nil
}

// extent is how large a table is.
type extent struct{ bytes, rows float64 }

func (p *postgres) answered(ctx context.Context) (e extent, err error) {
	const sql = "SELECT pg_total_relation_size('reprise.reprise_answered'), (SELECT count(*) FROM reprise.reprise_answered)"
	return e, p.bare.pool.QueryRow(ctx, sql).Scan(&e.bytes, &e.rows)
}
