package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/machine"
)

// pools are pools of one database, of which that of the best size is used.
type pools struct {
	dsn  string
	all  map[int]*pgxpool.Pool
	pool *pgxpool.Pool // the one in use
}

// poolSizes are those that are tried.
var poolSizes = []int{1, 4, 8, 16, 32, 64, 128}

func openPools(ctx context.Context, dsn string) (*pools, error) {
	p := &pools{dsn: dsn, all: map[int]*pgxpool.Pool{}}
	return p, p.use(ctx, 16)
}

// use makes a number of connections be used.
func (p *pools) use(ctx context.Context, size int) error {
	if p.all[size] == nil {
		config, err := pgxpool.ParseConfig(p.dsn)
		if err != nil {
			return err
		}
		config.MaxConns = int32(size)
		if p.all[size], err = pgxpool.NewWithConfig(ctx, config); err != nil {
			return err
		}
	}
	p.pool = p.all[size]
	return nil
}

// tune implements tuner.
func (p *pools) tune(ctx context.Context, callers int, work func() error) (string, error) {
	return tunePool(ctx, callers, p.use, work)
}

// tunePool uses as many connections as serve the work best, by the median of some rounds.
func tunePool(ctx context.Context, callers int, use func(ctx context.Context, size int) error, work func() error) (string, error) {
	rates := map[int][]float64{}
	for range 5 {
		for _, size := range poolSizes {
			if size > callers {
				break
			}
			if err := use(ctx, size); err != nil {
				return "", err
			}
			r, err := rateFor(ctx, callers, roundTime/2, work)
			if err != nil {
				return "", err
			}
			rates[size] = append(rates[size], r)
		}
	}
	best := 1
	for size, r := range rates {
		if median(r) > median(rates[best]) {
			best = size
		}
	}
	return fmt.Sprintf("%d connections", best), use(ctx, best)
}

// Close closes all pools.
func (p *pools) Close() error {
	for _, pool := range p.all {
		pool.Close()
	}
	return nil
}

// bareStatements is the limit for PostgreSQL: a table as somebody would write it by hand, and a statement
// and a commit for each command. It takes Begin on a fresh key, Complete and Inspect.
type bareStatements struct{ *pools }

const (
	bareTable = `CREATE TABLE bare (id bigserial, digest bytea NOT NULL, state int NOT NULL, fingerprint bytea NOT NULL, answer bytea);
CREATE UNIQUE INDEX ON bare (digest);
CREATE TABLE orders (id bigserial PRIMARY KEY, what text NOT NULL)`

	bareInsert = "INSERT INTO bare (digest, state, fingerprint) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING"
	bareUpdate = "UPDATE bare SET state = 2, answer = $2 WHERE digest = $1 AND state = 1"
	bareSelect = "SELECT answer FROM bare WHERE digest = $1"
	bareOrder  = "INSERT INTO orders (what) VALUES ($1)"
)

func openBare(ctx context.Context, dsn string) (bareStatements, error) {
	pools, err := openPools(ctx, dsn)
	if err != nil {
		return bareStatements{}, err
	}
	_, err = pools.pool.Exec(ctx, bareTable)
	return bareStatements{pools}, err
}

// Apply implements [store.Store].
func (b bareStatements) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	digest := command.Target().Digest
	switch c := command.(type) {
	case machine.Begin:
		tag, err := b.pool.Exec(ctx, bareInsert, digest[:], c.Fingerprints[0].Sum[:])
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("inserted %d rows", tag.RowsAffected())
		}
		return machine.Reply{Outcome: machine.Acquired, Attempt: 1, Revision: 1}, err
	case machine.Complete:
		tag, err := b.pool.Exec(ctx, bareUpdate, digest[:], c.Response.Data)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("updated %d rows", tag.RowsAffected())
		}
		return machine.Reply{Outcome: machine.CompletedNow}, err
	case machine.Inspect:
		var answer []byte
		err := b.pool.QueryRow(ctx, bareSelect, digest[:]).Scan(&answer)
		return machine.Reply{Outcome: machine.Found, Response: machine.Response{Data: answer}}, err
	}
	return machine.Reply{}, fmt.Errorf("bareStatements does not know %v", command.Kind())
}

// order places an order and nothing else.
func (b bareStatements) order(ctx context.Context) error {
	_, err := b.pool.Exec(ctx, bareOrder, "a book")
	return err
}

// guardedOrder places an order under a fresh key: claim, order and answer in one transaction, as somebody
// would write it who knows how to save round trips. There are three.
func (b bareStatements) guardedOrder(ctx context.Context) error {
	return b.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		digest := random[machine.Digest]()
		first, last := &pgx.Batch{}, &pgx.Batch{}
		first.Queue("BEGIN")
		first.Queue(bareInsert, digest[:], digest[:])
		last.Queue(bareUpdate, digest[:], answer256)
		last.Queue("COMMIT")
		if err := conn.SendBatch(ctx, first).Close(); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, bareOrder, "a book"); err != nil {
			return err
		}
		return conn.SendBatch(ctx, last).Close()
	})
}
