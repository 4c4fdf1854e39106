package main

import (
	"context"
	"math"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/memstore"
)

// benchGuard measures what the guard itself costs: Do on memory with fresh keys, against calling the
// action. What is left after the subtraction is digests, two commands and the decision between them.
func benchGuard(ctx context.Context, s settings, t *table) error {
	const calls = 100_000
	t.progress("guard: %d rounds of %d calls", s.rounds, calls)
	answer, payload := make([]byte, 256), make([]byte, 256)
	action := func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{Data: answer}, nil
	}
	var guarded, plain cost
	for range s.rounds {
		guard, err := newGuard()
		if err != nil {
			return err
		}
		guarded.add(measure(calls, func(i int) {
			if err == nil {
				_, err = guard.Do(ctx, reprise.Call{Operation: "bench", Principal: "p", Key: strconv.Itoa(i), Payload: payload}, action)
			}
		}))
		if err != nil {
			return err
		}
		plain.add(measure(calls, func(i int) {
			key = strconv.Itoa(i) // the caller's own key is no cost of the guard
			_, _ = action(ctx, nil)
		}))
	}
	t.atMost("Do on memstore, fresh key", "calling the action", (median(guarded.nanos)-median(plain.nanos))/1000, 3, " µs more of processor time")
	// Rounded as package testing does: what is not one for each call is the growth of memstore's maps.
	t.atMost("Do on memstore, fresh key", "calling the action", math.Round(median(guarded.allocs)-median(plain.allocs)), 12, " allocs more")
	return nil
}

// key keeps the compiler from removing what makes it.
var key string

func newGuard() (*reprise.Guard, error) {
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: make([]byte, reprise.MinSecret)})
	if err != nil {
		return nil, err
	}
	return reprise.New(memstore.New(nil), reprise.Policy{Secrets: secrets})
}

// cost is what a call took, round by round.
type cost struct{ nanos, allocs []float64 }

func (c *cost) add(nanos, allocs float64) {
	c.nanos, c.allocs = append(c.nanos, nanos), append(c.allocs, allocs)
}

// measure returns the nanoseconds and allocations of a call, after a warm-up and a collection. The time is
// the processor's, so that what else the machine does is not counted; the collector's work is.
func measure(calls int, call func(i int)) (nanos, allocs float64) {
	for i := range calls / 10 {
		call(-1 - i)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := processorTime()
	for i := range calls {
		call(i)
	}
	took := processorTime() - started
	runtime.ReadMemStats(&after)
	return float64(took.Nanoseconds()) / float64(calls), float64(after.Mallocs-before.Mallocs) / float64(calls)
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0 // cannot happen: the arguments are good
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
