package proxy

import "sync"

// crowd counts requests, and tells when the last has left after no more are let in.
type crowd struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{}
}

func newCrowd() *crowd { return &crowd{empty: make(chan struct{})} }

// enter lets a request in, which leaves later. False: not any more.
func (c *crowd) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.inside++
	return true
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside--; c.inside == 0 && c.closed {
		close(c.empty)
	}
}

// close lets nobody in any more. The channel closes when nobody is inside.
func (c *crowd) close() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		if c.inside == 0 {
			close(c.empty)
		}
	}
	return c.empty
}
