package main

import (
	"context"
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
	name string
	open func(dir string) (store.Store, error)
	// limit does the same commands in the plainest way; limitName says which.
	limit     func(dir string) (store.Store, error)
	limitName string
	// targets are the least ratios by the number of callers.
	targets []target
}

type target struct {
	callers int
	ratio   float64
}

func contenders() []contender {
	return []contender{{
		name: "sqlitestore",
		open: func(dir string) (store.Store, error) {
			return sqlitestore.Open(context.Background(), filepath.Join(dir, "grouped.db"), sqlitestore.Options{})
		},
		limit:     func(dir string) (store.Store, error) { return openCommitEach(filepath.Join(dir, "each.db")) },
		limitName: "a commit for each command",
		targets:   []target{{1, 0.9}, {64, 9}, {256, 15}},
	}}
}

func benchStores(ctx context.Context, s settings, t *table) error {
	for _, c := range contenders() {
		ours, err := c.open(s.dir)
		if err != nil {
			return err
		}
		limit, err := c.limit(s.dir)
		if err != nil {
			return err
		}
		for _, target := range c.targets {
			if err := benchOperations(ctx, s, t, c, ours, limit, target); err != nil {
				return err
			}
		}
		if err := benchReplays(ctx, s, t, c, ours); err != nil {
			return err
		}
		if err := ours.Close(); err != nil {
			return err
		}
		if err := limit.Close(); err != nil {
			return err
		}
	}
	return nil
}

// roundTime is about how long one side of a round takes.
const roundTime = 500 * time.Millisecond

func benchOperations(ctx context.Context, s settings, t *table, c contender, ours, limit store.Store, target target) error {
	t.progress("%s: %d rounds at %d callers", c.name, s.rounds, target.callers)
	side := func(on store.Store) func() (float64, error) {
		return func() (float64, error) {
			return rate(ctx, target.callers, func() error { return operate(ctx, on) })
		}
	}
	medians, ratio, err := inTurns(s.rounds, side(ours), side(limit))
	if err != nil {
		return err
	}
	t.atLeast(fmt.Sprintf("%s, operations at %d callers (%s)", c.name, target.callers, thousands(medians.ours)),
		fmt.Sprintf("%s (%s)", c.limitName, thousands(medians.limit)), ratio, target.ratio, "×")
	return nil
}

// benchReplays measures replays alone and beside writers. They share two processors with the writers but
// wait for no commit: a replay beside writers must take less than what one command of a writer takes.
func benchReplays(ctx context.Context, s settings, t *table, c contender, on store.Store) error {
	t.progress("%s: replays, alone and beside writers", c.name)
	const callers, writers = 64, 32
	begins := make([]machine.Begin, 1000)
	for i := range begins {
		var err error
		if begins[i], err = complete(ctx, on); err != nil {
			return err
		}
	}
	var next atomic.Int64
	replay := func() error {
		begin := begins[int(next.Add(1))%len(begins)]
		begin.Owner, begin.Nonce = random[machine.Token](), random[machine.Nonce]()
		reply, err := on.Apply(ctx, begin)
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
