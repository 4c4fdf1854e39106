package restore

import (
	"context"
	"sync"
	"time"
)

// bell wakes those of a process who wait for it to be rung. Processes do not hear each other: who waits looks again after a while, too.
type bell struct {
	mu   sync.Mutex
	next chan struct{} // closed when it is rung
}

// heard returns a channel that is closed when the bell is rung from now on. Who looks whether there is something to do asks for it before.
func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// nap is how long somebody waits who has found nothing to do: shortly at first, because what is missing is often the last part of something,
// and longer each time.
type nap struct{ last time.Duration }

const shortestNap = 16 // of a poll

// over says that there was something to do.
func (n *nap) over() { n.last = 0 }

// nap waits until it is time to look again, or the bell is rung. It returns false when the context has ended.
func (r *Runner) nap(ctx context.Context, n *nap, rung <-chan struct{}) bool {
	n.last = min(max(2*n.last, r.options.Poll/shortestNap), r.options.Poll)
	timer := time.NewTimer(n.last)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-rung:
		n.over()
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
