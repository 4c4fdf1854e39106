package sqlitestore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// request is something that waits for the writer: a command, or a task with a transaction of its own.
type request struct {
	command machine.Command
	fresh   bool // a claim whose record was absent when it was called
	task    func(t *transaction, now time.Time) error

	claimed atomic.Bool
	left    atomic.Bool   // its caller does not wait any more, and knows nothing of the outcome
	done    chan struct{} // has room for the one signal
	reply   machine.Reply
	err     error
}

func newRequest() *request { return &request{done: make(chan struct{}, 1)} }

// claim decides between the writer, which begins the request, and a caller who withdraws it. The first
// gets true.
func (r *request) claim() bool { return r.claimed.CompareAndSwap(false, true) }

// finish hands the outcome to the caller. The request is the caller's from here on.
func (r *request) finish(err error) {
	if err != nil {
		r.reply, r.err = machine.Reply{}, err
	}
	r.done <- struct{}{}
}

// reset makes the request ready for another use.
func (r *request) reset() {
	r.command, r.fresh, r.task, r.reply, r.err = nil, false, nil, machine.Reply{}, nil
	r.claimed.Store(false)
}

// do runs a task in a transaction of the writer's, under the file's lock.
func (s *Store) do(ctx context.Context, task func(t *transaction, now time.Time) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	r := newRequest()
	r.task = task
	_, err := s.await(ctx, r)
	return err
}
