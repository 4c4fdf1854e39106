package gather

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// Group collects what callers want at the same time, so that it is done together. Some workers, each on a
// connection of its own, take what waits. A lone caller does its work itself, which saves the way to a
// worker and back.
type Group[T any] struct {
	limit    int
	patience time.Duration
	queue    chan *Job[T]
	run      func(ctx context.Context, jobs []*Job[T])
	busy     atomic.Int64 // callers
}

// Job is what one caller wants. The worker that took it sets what is in Work and Err, then closes it with done.
type Job[T any] struct {
	Work  *T
	Err   error
	taken atomic.Bool
	done  chan struct{}
}

// What became of a job whose caller's context ended.
var (
	ErrWithdrawn = errors.New("withdrawn before it was sent")
	ErrLeft      = errors.New("left while it was under way")
)

// ErrSilent is the cause of a context whose patience has ended.
var ErrSilent = errors.New("the server does not answer")

// NewGroup returns a group of which at most limit jobs are run together. The context of those whose callers
// have contexts of their own ends after patience.
func NewGroup[T any](limit int, patience time.Duration, run func(ctx context.Context, jobs []*Job[T])) *Group[T] {
	return &Group[T]{limit: limit, patience: patience, queue: make(chan *Job[T], 2*limit), run: run}
}

// Do has work done. The errors ErrWithdrawn and ErrLeft mean that the context has ended; after ErrLeft the
// work still belongs to the worker.
func (g *Group[T]) Do(ctx context.Context, work *T) error {
	defer g.busy.Add(-1)
	if g.busy.Add(1) == 1 {
		j := &Job[T]{Work: work}
		g.run(ctx, []*Job[T]{j})
		return j.Err
	}
	j := &Job[T]{Work: work, done: make(chan struct{})}
	select {
	case g.queue <- j:
	case <-ctx.Done():
		return ErrWithdrawn
	}
	select {
	case <-j.done:
		return j.Err
	case <-ctx.Done():
		if j.take() {
			return ErrWithdrawn
		}
		return ErrLeft
	}
}

// Changing says what the error of [Group.Do] means for work that may change something, in the words of stores.
func Changing(ctx context.Context, err error) error {
	switch err {
	case ErrWithdrawn:
		return store.Unavailable(context.Cause(ctx))
	case ErrLeft:
		return store.Indeterminate(context.Cause(ctx))
	}
	return err
}

// take decides between a worker and a caller who withdraws. The first gets true.
func (j *Job[T]) take() bool { return j.taken.CompareAndSwap(false, true) }

// Work serves the group until the context ends.
func (g *Group[T]) Work(ctx context.Context) {
	jobs, last := make([]*Job[T], 0, g.limit), 0
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
func (g *Group[T]) serve(jobs []*Job[T]) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), g.patience, ErrSilent)
	defer cancel()
	g.run(ctx, jobs)
}

// collect takes what waits. After a group of several it lets the callers that were just answered come
// back first, until nobody comes. A lone caller is not kept waiting.
func (g *Group[T]) collect(jobs []*Job[T], first *Job[T], last int) []*Job[T] {
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
