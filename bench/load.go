package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sideBySide runs work while others write, and returns the mean time of what they did.
func sideBySide(ctx context.Context, writers int, write, work func() error) (mean time.Duration, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var count, nanos atomic.Int64
	failures := make(chan error, writers)
	for range writers {
		group.Go(func() {
			for ctx.Err() == nil {
				started := time.Now()
				if err := write(); err != nil {
					failures <- err
					return
				}
				count.Add(1)
				nanos.Add(int64(time.Since(started)))
			}
		})
	}
	err = work()
	stop()
	group.Wait()
	select {
	case failed := <-failures:
		err = failed
	default:
	}
	return time.Duration(nanos.Load() / max(1, count.Load())), err
}

// rate runs work from a number of goroutines for a round and returns how often it ran a second.
func rate(ctx context.Context, callers int, work func() error) (float64, error) {
	return rateFor(ctx, callers, roundTime, work)
}

// rateFor is rate for a round of another length.
func rateFor(ctx context.Context, callers int, length time.Duration, work func() error) (float64, error) {
	var group sync.WaitGroup
	var done atomic.Int64
	failures := make(chan error, callers)
	started := time.Now()
	for range callers {
		group.Go(func() {
			for time.Since(started) < length && ctx.Err() == nil {
				if err := work(); err != nil {
					failures <- err
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(started)
	select {
	case err := <-failures:
		return 0, err
	default:
		return float64(done.Load()) / took.Seconds(), ctx.Err()
	}
}

// times runs work a number of times in all, from a number of goroutines.
func times(n, callers int, work func() error) error {
	var group sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	failures := make(chan error, callers)
	for range callers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := work(); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}
