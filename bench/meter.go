package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

// meterPlant is a meter with servers of its own: its Redis is hydrated, and its gate open.
type meterPlant struct {
	host     *host
	name     string // of the SQL
	server   *servicetest.RedisServer
	redis    string // DSN
	sql      string // DSN
	ledger   *meterledger.Ledger
	meter    *meterredis.Meter
	client   rueidis.Client // by hand
	lines    int
	families int
	drawn    atomic.Int64
}

// meterHorizon has a tolerance as short as can be: what happened before the hydration and this is looked up in SQL first.
var meterHorizon = meter.Horizon{Retention: 48 * time.Hour, Tolerance: time.Second, Ahead: meter.OpenAhead}

const (
	meterLines    = 10_000
	meterInFamily = 4    // lines
	meterGranted  = 1e14 // enough for every round, and of few enough digits for the script's usual arithmetic
	meterCallers  = 256
)

// benchMeter measures the meter's script, and all of it with either SQL.
func benchMeter(ctx context.Context, s settings, t *table) error {
	for _, sql := range []string{"MariaDB", "PostgreSQL"} {
		if err := onMeter(ctx, sql, meterLines, func(p *meterPlant) error {
			if sql == "MariaDB" {
				if err := errors.Join(p.benchDeduct(ctx, s, t), p.benchScript(ctx, s, t)); err != nil {
					return err
				}
			}
			return p.benchServing(ctx, s, t)
		}); err != nil {
			return err
		}
	}
	return nil
}

// onMeter starts a plant with so many lines for some work.
func onMeter(ctx context.Context, sql string, lines int, work func(*meterPlant) error) (err error) {
	p := &meterPlant{host: &host{ctx: ctx}, name: sql, lines: lines, families: lines / 10 / meterInFamily}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.start(ctx); err != nil {
		return err
	}
	return work(p)
}

func (p *meterPlant) start(ctx context.Context) (err error) {
	if err := p.host.try(func() {
		p.server = servicetest.NewRedis(p.host, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
		p.redis = p.server.DSN(1)
		if p.name == "MariaDB" {
			p.sql = servicetest.NewMariaDB(p.host, servicetest.MariaDBOptions{MaxConnections: 400, Settings: map[string]string{"innodb-log-file-size": "96M"}}).Database(p.host)
		} else {
			p.sql = servicetest.NewPostgres(p.host, servicetest.PostgresOptions{MaxConnections: 400}).Database(p.host)
		}
	}); err != nil {
		return err
	}
	option, err := rueidis.ParseURL(p.redis)
	if err != nil {
		return err
	}
	option.DisableRetry, option.DisableCache, option.MaxFlushDelay = true, true, redisFlushDelay
	if p.client, err = rueidis.NewClient(option); err != nil {
		return err
	}
	if p.ledger, err = meterledger.Open(ctx, p.sql, meterledger.Options{Migrate: true}); err != nil {
		return err
	}
	return p.hydrate(ctx)
}

// hydrate brings the lines into SQL, opens the month, and fills Redis.
func (p *meterPlant) hydrate(ctx context.Context) (err error) {
	var families []meterledger.Family
	var lines []meterledger.Line
	for i := range p.families {
		families = append(families, meterledger.Family{ID: "family-" + strconv.Itoa(i), Shared: meterGranted})
	}
	for i := range p.lines {
		lines = append(lines, meterledger.Line{ID: lineID(i), Family: p.family(i), Individual: meterGranted, QoS: meterGranted})
	}
	if err := p.ledger.Import(ctx, families, lines, []string{"video", "chat"}); err != nil {
		return err
	}
	keeper := &pipeline.Keeper{Ledger: p.ledger, Horizon: meterHorizon}
	if _, err := keeper.OpenMonths(ctx); err != nil {
		return err
	}
	h := pipeline.Hydration{Ledger: p.ledger, Redis: p.redis, Horizon: meterHorizon, Who: "bench", Why: "it begins"}
	if _, err := pipeline.Hydrate(ctx, h); err != nil {
		return err
	}
	select {
	case <-time.After(2 * meterHorizon.Tolerance): // what happens from now on is decided without a look into SQL
	case <-ctx.Done():
		return ctx.Err()
	}
	p.meter, err = meterredis.Open(ctx, p.redis, meterredis.Options{Horizon: meterHorizon}, nil)
	return err
}

func lineID(i int) string { return "line-" + strconv.Itoa(i) }

// family is that of a line. One in ten is in one.
func (p *meterPlant) family(i int) string {
	if i/meterInFamily < p.families {
		return "family-" + strconv.Itoa(i/meterInFamily)
	}
	return ""
}

// event makes an event of now, and says which family it is of.
func (p *meterPlant) event() (meter.Event, string) {
	i := rand.IntN(p.lines)
	return meter.Event{
		ID: "event-" + strconv.FormatInt(p.drawn.Add(1), 10), Line: lineID(i), App: []string{"video", "chat"}[i%2], Bytes: 1 + rand.Int64N(200_000),
		At: time.Now().Truncate(time.Microsecond),
	}, p.family(i)
}

// deduct decides an event of now.
func (p *meterPlant) deduct(ctx context.Context) error {
	e, family := p.event()
	d, err := p.meter.Deduct(ctx, meterredis.Delivery{Event: e, Family: family})
	if err == nil && (d.Replayed || d.Result.Individual != e.Bytes) {
		err = fmt.Errorf("%+v was decided as %+v", e, d)
	}
	return err
}

func (p *meterPlant) close() error {
	var failures []error
	if p.meter != nil {
		failures = append(failures, p.meter.Close())
	}
	if p.client != nil {
		p.client.Close()
	}
	if p.ledger != nil {
		failures = append(failures, p.ledger.Close())
	}
	return errors.Join(append(failures, p.host.end())...)
}
