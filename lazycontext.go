package reprise

import (
	"context"
	"sync/atomic"
	"time"
)

// lazyContext is a context that can be cancelled and may have a deadline, as the standard library makes
// them, except that it makes one only when somebody waits for its end. An exchange with a store that
// answers from memory waits for nothing, and the timer alone would cost as much as the answer.
type lazyContext struct {
	context.Context           // the parent
	deadline        time.Time // zero: none but the parent's
	opened          atomic.Pointer[openContext]
	over            atomic.Bool
}

// openContext is the standard library's, once it is needed.
type openContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// under gives the context its parent, before anybody else sees it.
func (l *lazyContext) under(parent context.Context) { l.Context = parent }

// open makes the standard library's context, once.
func (l *lazyContext) open() *openContext {
	if o := l.opened.Load(); o != nil {
		return o
	}
	ctx, cancel := context.WithCancelCause(l.Context)
	o := &openContext{ctx, cancel}
	if !l.deadline.IsZero() {
		var stop context.CancelFunc
		o.Context, stop = context.WithDeadline(ctx, l.deadline)
		o.cancel = func(cause error) {
			cancel(cause)
			stop()
		}
	}
	if !l.opened.CompareAndSwap(nil, o) {
		o.cancel(nil)
		return l.opened.Load()
	}
	if l.over.Load() {
		o.cancel(nil)
	}
	return o
}

// cancel ends the context with a cause.
func (l *lazyContext) cancel(cause error) { l.open().cancel(cause) }

// end cancels the context when its work is done, and releases what it holds.
func (l *lazyContext) end() {
	l.over.Store(true)
	if o := l.opened.Load(); o != nil {
		o.cancel(nil)
	}
}

func (l *lazyContext) Done() <-chan struct{} { return l.open().Done() }

func (l *lazyContext) Err() error {
	if o := l.opened.Load(); o != nil {
		return o.Err()
	}
	if l.over.Load() {
		return context.Canceled
	}
	if err := l.Context.Err(); err != nil {
		return err
	}
	if !l.deadline.IsZero() && !time.Now().Before(l.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

func (l *lazyContext) Deadline() (time.Time, bool) {
	d, ok := l.Context.Deadline()
	if l.deadline.IsZero() || ok && d.Before(l.deadline) {
		return d, ok
	}
	return l.deadline, true
}

func (l *lazyContext) Value(key any) any {
	if o := l.opened.Load(); o != nil {
		return o.Value(key)
	}
	return l.Context.Value(key)
}
