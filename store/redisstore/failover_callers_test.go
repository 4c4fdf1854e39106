package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// A failover comes in the middle of 64 actions, and of effects that are made all the time. Every caller gets an answer, or
// is told that nobody knows; no action runs twice, and every effect counts once.
func TestFailoverInTheMiddleOfManyCallers(t *testing.T) {
	t.Parallel()
	for topology, start := range map[string]func(t *testing.T) (dsn string, failover func(d *database)){
		"cluster": func(t *testing.T) (string, func(*database)) {
			cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1})
			return cluster.DSN(), func(d *database) { cluster.Failover(d.business("t", "counter")) }
		},
		"sentinel": func(t *testing.T) (string, func(*database)) {
			group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
			return group.DSN(), func(d *database) {
				handOver(group)
				if _, err := AcceptLoss(t.Context(), d.dsn, "operator", "the replica has caught up", d.options); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			dsn, failover := start(t)
			d := databaseOn(t, dsn)
			s := d.open()
			c := newCrowdOfCallers(t, s)
			done, stop := d.traffic(s, "t")
			awaitMore(t, done)
			callers, end := c.begin(64)
			failover(d)
			end()
			callers.Wait()
			awaitMore(t, done)
			stop()
			c.askAgain()
			if n := d.number(d.business("t", "counter")); n != done.Load() {
				t.Errorf("%d effects were counted as %d", done.Load(), n)
			}
			t.Logf("%d callers, of which %d were told that nobody knows; %d keys of effects", len(c.told), c.unknown.Load(), done.Load())
		})
	}
}

// callersOf are callers of one guard, each with a key of its own.
type callersOf struct {
	*testing.T
	guard   *reprise.Guard
	told    [64]reprise.Outcome
	errs    [64]error
	runs    [64]atomic.Int64
	unknown atomic.Int64
}

func newCrowdOfCallers(t *testing.T, s *Store) *callersOf {
	t.Helper()
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: bytes.Repeat([]byte("reprise."), 4)})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := reprise.New(s, reprise.Policy{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close(context.WithoutCancel(t.Context())) })
	return &callersOf{T: t, guard: guard}
}

func (c *callersOf) call(i int, action func()) (reprise.Outcome, error) {
	key := fmt.Sprint("caller ", i)
	return c.guard.Do(c.Context(), reprise.Call{Operation: "charge", Principal: "customer", Key: key, Payload: []byte(key)},
		func(context.Context, *reprise.Run) (reprise.Response, error) {
			action()
			return reprise.Response{Data: fmt.Appendf(nil, "run %d of %s", c.runs[i].Add(1), key)}, nil
		})
}

// begin makes all calls, and returns when all of their actions run. They go on until end is called.
func (c *callersOf) begin(n int) (callers *sync.WaitGroup, end func()) {
	callers = new(sync.WaitGroup)
	over := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(n)
	for i := range n {
		callers.Go(func() {
			c.told[i], c.errs[i] = c.call(i, func() { begun.Done(); <-over })
			if errors.Is(c.errs[i], reprise.ErrUnknown) {
				c.unknown.Add(1)
			} else if c.errs[i] != nil {
				c.Errorf("caller %d: %v", i, c.errs[i])
			}
		})
	}
	begun.Wait()
	return callers, func() { close(over) }
}

// askAgain sends every call again. Who was given an answer gets it again; only who was told that nobody knows may hear
// that again; and nothing runs.
func (c *callersOf) askAgain() {
	c.Helper()
	for i := range c.told {
		var last reprise.Outcome
		eventually(c.T, func() (err error) { // what could not be recorded at once is recorded later
			if last, err = c.call(i, func() {}); c.errs[i] != nil && errors.Is(err, reprise.ErrUnknown) {
				return nil
			}
			return err
		})
		if c.errs[i] == nil && (!last.Replayed || !bytes.Equal(last.Response.Data, c.told[i].Response.Data)) {
			c.Errorf("caller %d was told %q, and then %q", i, c.told[i].Response.Data, last.Response.Data)
		}
		if n := c.runs[i].Load(); n != 1 {
			c.Errorf("the action of caller %d ran %d times", i, n)
		}
	}
}
