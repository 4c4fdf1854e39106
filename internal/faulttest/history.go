package faulttest

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// history is what was asked of a store and what it said, in the order of a clock of its own.
type history struct {
	mu     sync.Mutex
	ticks  int64
	all    []*exchange
	latest machine.Instant // of all replies so far
	phase  func() phase    // of the run
	fades  bool            // records that count as absent may be gone
	waits  []wait
}

// wait is somebody who waits for an exchange.
type wait struct {
	condition func(exchange) bool
	met       chan struct{}
}

// await returns a channel that is closed when an exchange has ended that fulfils a condition.
func (h *history) await(condition func(exchange) bool) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := wait{condition, make(chan struct{})}
	h.waits = append(h.waits, w)
	return w.met
}

// exchange is one command and what became of it.
type exchange struct {
	command   machine.Command
	call, end int64           // end is [pending] until a reply or an error came
	after     machine.Instant // the store's time was not before this when the command was sent
	reply     machine.Reply
	err       error
	began     phase
	hit       bool // by the fault, or the trouble: it was under way then
}

// phase says where a run stands.
type phase int

const (
	sound   phase = iota // nothing has gone wrong yet
	harmed               // something goes wrong
	mending              // nothing more goes wrong
)

const pending = math.MaxInt64

func (h *history) begin(c machine.Command) *exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ticks++
	x := &exchange{command: c, call: h.ticks, end: pending, after: h.latest, began: h.phase()}
	h.all = append(h.all, x)
	return x
}

func (h *history) finish(x *exchange, reply machine.Reply, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ticks++
	x.end, x.reply, x.err = h.ticks, reply, err
	x.hit = x.began == harmed || x.began != h.phase()
	if err == nil {
		h.latest = max(h.latest, reply.At)
	}
	h.waits = slices.DeleteFunc(h.waits, func(w wait) bool {
		met := w.condition(*x)
		if met {
			close(w.met)
		}
		return met
	})
}

// exchanges returns a copy of what has happened so far.
func (h *history) exchanges() []exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]exchange, len(h.all))
	for i, x := range h.all {
		all[i] = *x
	}
	return all
}

// scopes are those of all commands so far.
func (h *history) scopes() []machine.Scope {
	h.mu.Lock()
	defer h.mu.Unlock()
	met := map[machine.Scope]bool{}
	for _, x := range h.all {
		met[x.command.Target()] = true
	}
	return slices.Collect(maps.Keys(met))
}

// vocabulary are the errors by which a store says what is known. No fault of this package damages data; whether
// a store may say that it has lost some is its own affair, and then it is unavailable, too.
var vocabulary = []error{store.ErrUnavailable, store.ErrIndeterminate}

// grace is how much longer than its context says a command may take, on a machine that is busy.
const grace = 10 * time.Second

// recorder is a decorator that writes the history of a store, and judges its errors.
type recorder struct {
	inner   store.Store
	history *history
	report  *report
	// calm says that nothing goes wrong any more: then a command may take its time, on a machine that is
	// busy, although those who wait for nothing have little patience.
	calm *atomic.Bool
	// gone says that whoever sends this is dead.
	gone *atomic.Bool
}

var errDead = errors.New("the process is dead")

// Apply implements [store.Store].
func (r *recorder) Apply(ctx context.Context, c machine.Command) (machine.Reply, error) {
	if r.gone != nil && r.gone.Load() {
		return machine.Reply{}, store.Unavailable(errDead)
	}
	if r.calm != nil && r.calm.Load() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
	}
	x := r.history.begin(c)
	reply, err := r.inner.Apply(ctx, c)
	r.history.finish(x, reply, err)
	if until, bounded := ctx.Deadline(); bounded && time.Since(until) > grace {
		r.report.breach("%v took %v longer than its context said", c.Kind(), time.Since(until))
	}
	r.report.judge(c.Kind().String(), err)
	return reply, err
}

// judge says so if an error is not in the vocabulary, or says both.
func (r *report) judge(what string, err error) {
	if err == nil {
		return
	}
	said := 0
	for _, known := range vocabulary {
		if errors.Is(err, known) {
			said++
		}
	}
	if said != 1 || errors.Is(err, store.ErrLost) && !r.loses || errors.Is(err, store.ErrCorrupt) {
		r.breach("%s: an error that does not say what is known, or says what is not: %v", what, err)
	}
}

// look reads a record, also if the handle has been cut off.
func (r *recorder) look(ctx context.Context, scope machine.Scope) {
	var err error
	for range tries {
		if _, err = r.Apply(ctx, machine.Inspect{Scope: scope}); err == nil {
			return
		}
	}
	r.report.breach("the record cannot be read: %v", err)
}

// Unwrap implements [store.Unwrapper].
func (r *recorder) Unwrap() store.Store { return r.inner }

// Close implements [store.Store].
func (r *recorder) Close() error { return r.inner.Close() }
