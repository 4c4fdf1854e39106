package reprise

import (
	"context"
	"sync/atomic"
	"time"
)

// exchange is the context of one exchange with the store. It is context.WithTimeout, except that the
// timer is made only when somebody waits for it: a store that answers from memory never does, and the
// timer would cost more than the answer.
type exchange struct {
	context.Context // the parent
	deadline        time.Time
	opened          atomic.Pointer[openedExchange]
}

type openedExchange struct {
	context.Context
	cancel context.CancelFunc
}

func newExchange(parent context.Context, deadline time.Time) *exchange {
	return &exchange{Context: parent, deadline: deadline}
}

// end releases what the exchange holds. Who still waits for it is woken.
func (e *exchange) end() {
	if o := e.opened.Load(); o != nil {
		o.cancel()
	}
}

func (e *exchange) Done() <-chan struct{} {
	if o := e.opened.Load(); o != nil {
		return o.Done()
	}
	ctx, cancel := context.WithDeadline(e.Context, e.deadline)
	o := &openedExchange{ctx, cancel}
	if !e.opened.CompareAndSwap(nil, o) {
		cancel()
		o = e.opened.Load()
	}
	return o.Done()
}

func (e *exchange) Err() error {
	if o := e.opened.Load(); o != nil {
		return o.Err()
	}
	if err := e.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(e.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

func (e *exchange) Deadline() (time.Time, bool) {
	if d, ok := e.Context.Deadline(); ok && d.Before(e.deadline) {
		return d, true
	}
	return e.deadline, true
}

func (e *exchange) Value(key any) any {
	if o := e.opened.Load(); o != nil {
		return o.Context.Value(key)
	}
	return e.Context.Value(key)
}
