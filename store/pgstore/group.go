package pgstore

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// group collects what callers want at the same time, so that it is done together. Some workers, each on a
// connection of its own, take what waits. A lone caller does its work itself, which saves the way to a
// worker and back.
type group[T any] struct {
	limit    int
	patience time.Duration
	queue    chan *job[T]
	run      func(ctx context.Context, jobs []*job[T])
	busy     atomic.Int64 // callers
}

// job is what one caller wants. The worker that took it sets work and err, then closes it with done.
type job[T any] struct {
	work  *T
	err   error
	taken atomic.Bool
	done  chan struct{}
}

// What became of a job whose caller's context ended.
var (
	errWithdrawn = errors.New("withdrawn before it was sent")
	errLeft      = errors.New("left while it was under way")
)

func newGroup[T any](o Options, run func(ctx context.Context, jobs []*job[T])) *group[T] {
	return &group[T]{limit: o.GroupLimit, patience: o.Timeout, queue: make(chan *job[T], 2*o.GroupLimit), run: run}
}

// do has work done. The errors errWithdrawn and errLeft mean that the context has ended; after errLeft the
// work still belongs to the worker.
func (g *group[T]) do(ctx context.Context, work *T) error {
	defer g.busy.Add(-1)
	if g.busy.Add(1) == 1 {
		j := &job[T]{work: work}
		g.run(ctx, []*job[T]{j})
		return j.err
	}
	j := &job[T]{work: work, done: make(chan struct{})}
	select {
	case g.queue <- j:
	case <-ctx.Done():
		return errWithdrawn
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		if j.take() {
			return errWithdrawn
		}
		return errLeft
	}
}

// take decides between a worker and a caller who withdraws. The first gets true.
func (j *job[T]) take() bool { return j.taken.CompareAndSwap(false, true) }

// work serves the group until the context ends.
func (g *group[T]) work(ctx context.Context) {
	jobs, last := make([]*job[T], 0, g.limit), 0
	for {
		select {
		case j := <-g.queue:
			jobs = g.collect(jobs[:0], j, last)
		case <-ctx.Done():
			return
		}
		if last = len(jobs); last == 0 {
			continue
		}
		g.serve(jobs)
		for i, j := range jobs {
			jobs[i] = nil
			close(j.done)
		}
	}
}

// serve runs jobs whose callers have contexts of their own.
func (g *group[T]) serve(jobs []*job[T]) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), g.patience, errSilent)
	defer cancel()
	g.run(ctx, jobs)
}

// collect takes what waits. After a group of several it lets the callers that were just answered come
// back first, until nobody comes. A lone caller is not kept waiting.
func (g *group[T]) collect(jobs []*job[T], first *job[T], last int) []*job[T] {
	if first.take() {
		jobs = append(jobs, first)
	}
	for rounds := 0; len(jobs) < g.limit; {
		select {
		case j := <-g.queue:
			if j.take() {
				jobs = append(jobs, j)
			}
			continue
		default:
		}
		if rounds++; last < 2 || rounds > 4 {
			break
		}
		runtime.Gosched()
		if len(g.queue) == 0 {
			break
		}
	}
	return jobs
}
