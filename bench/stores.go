package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

// contender is a store and the limit that it is held against.
type contender struct {
	part, name string
	open       func(ctx context.Context, dir string) (contest, error)
	limitName  string // what the limit does
	// operations are the least ratios, by the number of callers.
	operations []target
	// replays are those of replays to looking an answer up in the limit. Without, they are measured
	// beside writers.
	replays []target
}

type target struct {
	callers int
	ratio   float64
}

// contest is a store and its limit, both open. The limit does the same commands in the plainest way.
type contest struct {
	ours, limit store.Store
	close       func() error
}

// tuner is a limit that fits itself to a number of callers and what they do. It says how.
type tuner interface {
	tune(ctx context.Context, callers int, work func() error) (how string, err error)
}

func contenders() []contender {
	return []contender{sqliteContender(), postgresContender(), mysqlContender(), redisContender(), redisHashContender()}
}

func sqliteContender() contender {
	return contender{
		part: "sqlite", name: "sqlitestore", open: openSQLite, limitName: "a commit for each command",
		operations: []target{{1, 0.9}, {64, 9}, {256, 15}},
	}
}

func postgresContender() contender {
	return contender{
		part: "postgres", name: "pgstore", open: openPostgres, limitName: "a bare statement for each command",
		operations: []target{{1, 0.9}, {64, 2.5}, {256, 5}},
		replays:    []target{{1, 0.85}, {64, 0.85}, {256, 0.85}},
	}
}

func openSQLite(ctx context.Context, dir string) (contest, error) {
	ours, err := sqlitestore.Open(ctx, filepath.Join(dir, "grouped.db"), sqlitestore.Options{})
	if err != nil {
		return contest{}, err
	}
	limit, err := openCommitEach(filepath.Join(dir, "each.db"))
	return contest{ours: ours, limit: limit, close: func() error { return errors.Join(ours.Close(), limit.Close()) }}, err
}

// bench measures the contender.
func (c contender) bench(ctx context.Context, s settings, t *table) (err error) {
	on, err := c.open(ctx, s.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.close()) }()
	for _, target := range c.operations {
		if err := c.benchOperations(ctx, s, t, "", on, target); err != nil {
			return err
		}
	}
	for _, target := range c.replays {
		if err := c.benchReplays(ctx, s, t, "", on, target); err != nil {
			return err
		}
	}
	if len(c.replays) == 0 {
		return benchReplaysBeside(ctx, s, t, c, on.ours)
	}
	return nil
}

// roundTime is about how long one side of a round takes.
const roundTime = 500 * time.Millisecond

// compare measures work of the store against the same in the limit.
func (c contender) compare(ctx context.Context, s settings, t *table, what, against string, on contest, target target, ours, limit func() error) error {
	t.progress("%s: %d rounds of %s at %d callers", c.name, s.rounds, what, target.callers)
	if tuner, ok := on.limit.(tuner); ok {
		how, err := tuner.tune(ctx, target.callers, limit)
		if err != nil {
			return err
		}
		against += ", " + how
	}
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) { return rate(ctx, target.callers, ours) },
		func() (float64, error) { return rate(ctx, target.callers, limit) })
	if err != nil {
		return err
	}
	t.atLeast(fmt.Sprintf("%s, %s at %d callers (%s)", c.name, what, target.callers, thousands(medians.ours)),
		fmt.Sprintf("%s (%s)", against, thousands(medians.limit)), ratio, target.ratio, "×")
	return nil
}

// benchOperations measures begin on a fresh key and complete. where says among what.
func (c contender) benchOperations(ctx context.Context, s settings, t *table, where string, on contest, target target) error {
	return c.compare(ctx, s, t, "operations"+where, c.limitName, on, target,
		func() error { return operate(ctx, on.ours) },
		func() error { return operate(ctx, on.limit) })
}

// benchReplays measures begin on keys that have an answer against looking the answer up.
func (c contender) benchReplays(ctx context.Context, s settings, t *table, where string, on contest, target target) error {
	ours, err := answered(ctx, on.ours)
	if err != nil {
		return err
	}
	limits, err := answered(ctx, on.limit)
	if err != nil {
		return err
	}
	return c.compare(ctx, s, t, "replays"+where, "looking it up by its key", on, target,
		func() error {
			reply, err := on.ours.Apply(ctx, ours())
			return expect(reply, err, machine.Replay)
		},
		func() error {
			reply, err := on.limit.Apply(ctx, machine.Inspect{Scope: limits().Scope})
			return expect(reply, err, machine.Found)
		})
}

// answered makes a thousand records with answers. What it returns gives begins on them, by other callers.
func answered(ctx context.Context, on store.Store) (func() machine.Begin, error) {
	begins := make([]machine.Begin, 1000)
	for i := range begins {
		var err error
		if begins[i], err = complete(ctx, on); err != nil {
			return nil, err
		}
	}
	var next atomic.Int64
	return func() machine.Begin {
		begin := begins[int(next.Add(1))%len(begins)]
		begin.Owner, begin.Nonce = random[machine.Token](), random[machine.Nonce]()
		return begin
	}, nil
}

// benchReplaysBeside measures replays alone and beside writers. They share two processors with the writers but
// wait for no commit: a replay beside writers must take less than what one command of a writer takes.
func benchReplaysBeside(ctx context.Context, s settings, t *table, c contender, on store.Store) error {
	t.progress("%s: replays, alone and beside writers", c.name)
	const callers, writers = 64, 32
	next, err := answered(ctx, on)
	if err != nil {
		return err
	}
	replay := func() error {
		reply, err := on.Apply(ctx, next())
		return expect(reply, err, machine.Replay)
	}
	var alone, beside, read, write []float64
	for range s.rounds {
		r, err := rate(ctx, callers, replay)
		if err != nil {
			return err
		}
		alone = append(alone, r)
		_, err = sideBySide(ctx, writers, func() error { return operate(ctx, on) }, func() error {
			r, err := rate(ctx, callers, replay)
			beside = append(beside, r)
			return err
		})
		if err != nil {
			return err
		}
		took, err := sideBySide(ctx, writers, func() error { return operate(ctx, on) }, func() error {
			r, err := rate(ctx, 1, replay)
			read = append(read, 1/r)
			return err
		})
		if err != nil {
			return err
		}
		write = append(write, took.Seconds()/2) // an operation is two commands
	}
	t.info(fmt.Sprintf("%s, replays at %d callers", c.name, callers), "", thousands(median(alone)))
	t.info(fmt.Sprintf("%s, replays at %d callers beside %d writers", c.name, callers, writers), "", thousands(median(beside)))
	t.atMost(fmt.Sprintf("%s, time of a replay beside %d writers", c.name, writers), "time of a writer's command", median(read)/median(write), 0.5, "×")
	return nil
}
