package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A slot goes back and forth between the servers of a Cluster while callers use it. Some are sent elsewhere, and some are
// told to try again: none of them hears of it, because it is over within their time.
func TestSlotsMoveUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
	d := databaseOn(t, cluster.DSN())
	s, slots := d.open(), howMany(1, 15)
	var calls, keys int64
	for i := range slots { // a new one each time: what is in a slot makes its way longer
		c, k := moveUnderLoad(t, cluster, d, s, fmt.Sprint("account ", i))
		calls, keys = calls+c, keys+k
	}
	t.Logf("%d moves of a slot, %d calls, %d keys counted", slots*moves, calls, keys)
}

// moves is how often one slot moves.
const moves = 6

// moveUnderLoad moves the slot of a tag, and returns how many calls were made meanwhile, and how many keys were counted.
func moveUnderLoad(t *testing.T, cluster *servicetest.RedisCluster, d *database, s *Store, tag string) (calls, keys int64) {
	t.Helper()
	e, counter := newEffect(t, increment), d.business(tag, "counter")
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var done, effects atomic.Int64
	call := func(what string, work func(ctx context.Context) error) {
		callers.Go(func() {
			for ctx.Err() == nil {
				try, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				if err := work(try); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				cancel()
				done.Add(1)
			}
		})
	}
	for range 4 {
		call("an effect", func(ctx context.Context) error {
			got, err := e.Do(ctx, s, invocation(fmt.Sprint("key ", effects.Add(1)), tag), []string{counter}, "1")
			if err == nil && got.Replayed {
				err = fmt.Errorf("a first try was answered with a replay")
			}
			return err
		})
		call("an operation", func(ctx context.Context) error {
			begin := newBegin()
			begin.Scope.Digest = store.Tagged(begin.Scope.Digest, tag)
			for _, step := range []struct {
				command machine.Command
				outcome machine.Outcome
			}{{begin, machine.Acquired}, {completion(begin, "answer"), machine.CompletedNow}, {anotherCaller(begin), machine.Replay}} {
				if reply, err := s.Apply(ctx, step.command); err != nil || reply.Outcome != step.outcome {
					return fmt.Errorf("%v: %v, %w", step.command.Kind(), reply.Outcome, err)
				}
			}
			return nil
		})
	}
	for range moves {
		awaitMore(t, &done)
		from, to := cluster.Master(counter), cluster.Masters()[0]
		if to == from {
			to = cluster.Masters()[1]
		}
		cluster.BeginMove(counter, to).Finish()
	}
	awaitMore(t, &done)
	stop()
	callers.Wait()
	if n := d.number(counter); n != effects.Load() {
		t.Errorf("%d keys were counted as %d", effects.Load(), n)
	}
	return done.Load(), effects.Load()
}
