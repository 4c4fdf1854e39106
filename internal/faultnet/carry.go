package faultnet

import (
	"errors"
	"net"
)

// errCut ends a pump whose connection is cut.
var errCut = errors.New("the connection is cut")

// pass writes bytes to one side, after the black hole if there is one.
func (c *conn) pass(to net.Conn, bytes []byte) error {
	for {
		hole := c.proxy.blackHole()
		if hole == nil {
			break
		}
		if err := wait(c, hole); err != nil {
			return err
		}
	}
	if len(bytes) == 0 || c.isHung() {
		return nil
	}
	_, err := to.Write(bytes)
	return err
}

// wait waits for a channel, or for the end of the connection.
func wait[T any](c *conn, channel <-chan T) error {
	select {
	case <-channel:
		return nil
	case <-c.closed:
		return errCut
	}
}

// lose ends the connection, or lets it hang. Who sees the end finds the fault counted.
func (c *conn) lose(f fate) error {
	var err error
	c.proxy.countStruck()
	if f.fault.hangs {
		c.hang()
	} else {
		c.close()
		err = errCut
	}
	c.tellStruck(f)
	return err
}

// hang lets nothing through any more. Nobody waits for a reply then.
func (c *conn) hang() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hung = true
	if len(c.unanswered) > 0 {
		c.unanswered = nil
		close(c.idle)
	}
}

func (c *conn) struck(f fate) {
	c.proxy.countStruck()
	c.tellStruck(f)
}

func (c *conn) tellStruck(f fate) { c.proxy.tell(Event{Kind: Struck, Conn: c.id, N: f.n}) }

func (p *Proxy) countStruck() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck++
}

func (c *conn) isHung() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hung
}

// close closes both sides. What was written before still arrives.
func (c *conn) close() {
	c.closing.Do(func() {
		close(c.closed)
		c.client.Close()
		c.server.Close()
	})
}

// reset closes both sides at once; what is on its way may be lost.
func (c *conn) reset() {
	c.closing.Do(func() {
		close(c.closed)
		for _, side := range []net.Conn{c.client, c.server} {
			if tcp, ok := side.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // fails only if it is closed already
			}
			side.Close()
		}
	})
}

// arrive counts a request and asks the plan about it.
func (p *Proxy) arrive(id int, message []byte) fate {
	p.mu.Lock()
	p.requests++
	f := fate{n: p.requests, fault: p.plan(Request{N: p.requests, Conn: id, Bytes: message})}
	p.mu.Unlock()
	p.tell(Event{Kind: Arrived, Conn: id, N: f.n})
	return f
}

func (p *Proxy) blackHole() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hole
}
