package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterrestore"
	"github.com/reprise-dev/reprise/meter/meterrestore/restoretest"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// restoreLines is how many lines the part restore has.
const restoreLines = 20_000

// restorePlant is a large meter in PostgreSQL, and a Redis that is emptied and restored.
type restorePlant struct {
	host       *host
	server     *servicetest.RedisServer
	redis, sql string // DSNs
	ledger     *meterledger.Ledger
	sessions   *restore.Sessions
	client     rueidis.Client // by hand
	lines      int
	keys       []bareKey // of all units, as a restore leaves them
}

// restored is how long each part of a restore took, which ends with verification.
type restored struct{ written, replayed, verified, whole time.Duration }

// benchRestore measures a restore and its parts against the plainest thing that writes or reads the same keys.
func benchRestore(ctx context.Context, s settings, t *table) error {
	return onRestore(ctx, restoreLines, func(p *restorePlant) error {
		if _, err := p.restore(ctx, restore.Request{}, 2); err != nil {
			return err
		}
		if err := p.remember(ctx); err != nil {
			return err
		}
		t.progress("restore: %d rounds of %d lines with %d keys", s.rounds, p.lines, len(p.keys))
		return errors.Join(p.benchPhases(ctx, s, t), p.benchWhole(ctx, s, t), p.benchWorkers(ctx, s, t))
	})
}

// onRestore starts a plant with so many lines for some work.
func onRestore(ctx context.Context, lines int, work func(*restorePlant) error) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as `reprise restore` has it
	p := &restorePlant{host: &host{ctx: ctx}, lines: lines}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.start(ctx); err != nil {
		return err
	}
	return work(p)
}

func (p *restorePlant) start(ctx context.Context) (err error) {
	if err := p.host.try(func() {
		p.server = servicetest.NewRedis(p.host, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
		p.sql = servicetest.NewPostgres(p.host, servicetest.PostgresOptions{Settings: map[string]string{"max_wal_size": "8GB"}}).Database(p.host)
	}); err != nil {
		return err
	}
	p.redis = p.server.DSN(1)
	option, err := rueidis.ParseURL(p.server.AdminDSN(1))
	if err != nil {
		return err
	}
	option.DisableCache = true
	if p.client, err = rueidis.NewClient(option); err != nil {
		return err
	}
	if p.ledger, err = meterledger.Open(ctx, p.sql, meterledger.Options{Migrate: true}); err != nil {
		return err
	}
	h := pipeline.Hydration{Ledger: p.ledger, Redis: p.redis, Horizon: meterHorizon, Who: "bench", Why: "it begins"}
	if _, err := pipeline.Hydrate(ctx, h); err != nil {
		return err
	}
	if _, err := restore.Migrate(ctx, p.sql); err != nil {
		return err
	}
	if p.sessions, err = restore.Open(ctx, p.sql, 0); err != nil {
		return err
	}
	return restoretest.Populate(ctx, p.sql, p.lines)
}

func (p *restorePlant) close() error {
	var failures []error
	if p.client != nil {
		p.client.Close()
	}
	if p.sessions != nil {
		failures = append(failures, p.sessions.Close())
	}
	if p.ledger != nil {
		failures = append(failures, p.ledger.Close())
	}
	return errors.Join(append(failures, p.host.end())...)
}

// plan is the meter's. Draining takes the second that it takes at least.
func (p *restorePlant) plan() *meterrestore.Plan {
	return meterrestore.New(meterrestore.Options{Ledger: p.ledger, Redis: p.redis, Horizon: meterHorizon, Who: "bench", Why: "a bench", Longest: time.Nanosecond})
}

// restore empties Redis and restores it, by processes with so many workers each, which share nothing but the servers.
func (p *restorePlant) restore(ctx context.Context, request restore.Request, processes ...int) (r restored, err error) {
	if err := p.host.try(func() { p.server.FlushAll() }); err != nil {
		return r, err
	}
	request.Who, request.Why, request.Again = "bench", "a bench", true
	ended := make(chan error, len(processes))
	var id int64
	began := time.Now()
	for i, workers := range processes {
		plan := p.plan()
		defer plan.Close()
		runner := restore.New(p.sessions, plan, restore.Options{Name: fmt.Sprint("bench-", i), Workers: workers})
		if i == 0 {
			session, _, err := runner.Start(ctx, request)
			if err != nil {
				return r, err
			}
			id = session.ID
		}
		go func() {
			_, err := runner.Work(ctx)
			ended <- err
		}()
	}
	for range processes {
		err = errors.Join(err, <-ended)
	}
	if err != nil {
		return r, err
	}
	r.whole = time.Since(began)
	progress, err := p.sessions.Progress(ctx, id)
	if err == nil && (progress.Session.State != restore.Finished || len(progress.Findings) > 0) {
		err = fmt.Errorf("%+v", progress)
	}
	if err != nil {
		return r, err
	}
	var took []time.Duration
	for _, phase := range progress.Phases {
		took = append(took, phase.FinishedAt.Sub(phase.StartedAt))
	}
	r.written, r.replayed, r.verified = took[0]+took[1], took[2], took[3]
	return r, nil
}

// each returns how many of something a second a restore does in one of its parts.
func (p *restorePlant) each(ctx context.Context, n float64, part func(restored) time.Duration) func() (float64, error) {
	return func() (float64, error) {
		r, err := p.restore(ctx, restore.Request{}, 2)
		return n / part(r).Seconds(), err
	}
}

func (p *restorePlant) benchPhases(ctx context.Context, s settings, t *table) error {
	keys, rows := float64(len(p.keys)), float64(p.lines)*restoretest.UnfoldedOfLine
	for _, m := range []struct {
		what, against, unit string
		n, target           float64
		part                func(restored) time.Duration
		limit               func(context.Context) (float64, error)
	}{
		{"restore, phases 0 and 1", "a bare script that writes the same keys, 100 at once", "keys", keys, 0.8, func(r restored) time.Duration { return r.written }, p.writeBare},
		{"restore, phase 2, and all units opened", "a bare script that replays the rows, 100 at once", "rows", rows, 0.7, func(r restored) time.Duration { return r.replayed }, p.replayBare},
		{"restore, verification", "bare pipelined reads of the same keys, and when they expire", "keys", keys, 0.7, func(r restored) time.Duration { return r.verified }, p.readBare},
	} {
		medians, ratio, err := inTurns(s.rounds, p.each(ctx, m.n, m.part), func() (float64, error) { return m.limit(ctx) })
		if err != nil {
			return err
		}
		t.atLeast(fmt.Sprintf("%s (%s %s)", m.what, thousands(medians.ours), m.unit), fmt.Sprintf("%s (%s)", m.against, thousands(medians.limit)), ratio, m.target, "×")
	}
	return nil
}

// benchWhole compares a whole restore with loading the same keys.
func (p *restorePlant) benchWhole(ctx context.Context, s settings, t *table) error {
	text := p.protocol()
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) {
			r, err := p.restore(ctx, restore.Request{}, 2)
			return r.whole.Seconds(), err
		},
		func() (float64, error) { return p.pipe(ctx, text) })
	if err != nil {
		return err
	}
	t.atMost(fmt.Sprintf("restore, whole, with verification (%s s for %d lines)", number(medians.ours), p.lines),
		fmt.Sprintf("redis-cli --pipe with the same keys (%s s)", number(medians.limit)), ratio, 4, "×")
	return nil
}

// benchWorkers compares three workers with one, all by themselves.
func (p *restorePlant) benchWorkers(ctx context.Context, s settings, t *table) error {
	const limited = 1500 // units a second
	for _, m := range []struct {
		what   string
		rate   int64
		target float64
	}{{"restore, phases by three workers, of a limited rate", limited, 2.7}, {"restore, phases by three workers", 0, 0.9}} {
		rateOf := func(processes ...int) func() (float64, error) {
			return func() (float64, error) {
				r, err := p.restore(ctx, restore.Request{Rate: m.rate, Batch: 1}, processes...)
				return float64(p.lines) / (r.written + r.replayed).Seconds(), err
			}
		}
		medians, ratio, err := inTurns(s.rounds, rateOf(1, 1, 1), rateOf(1))
		if err != nil {
			return err
		}
		t.atLeast(fmt.Sprintf("%s (%s lines)", m.what, thousands(medians.ours)), fmt.Sprintf("one (%s)", thousands(medians.limit)), ratio, m.target, "×")
	}
	return nil
}
