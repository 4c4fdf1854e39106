package faultnet

import (
	"net"
	"sync"
	"time"
)

// conn is one connection of a client, with the one to the server behind it.
type conn struct {
	proxy          *Proxy
	id             int
	client, server net.Conn
	closing        sync.Once
	closed         chan struct{} // both sides are being closed
	ended          chan struct{} // and nothing of it runs any more

	held []byte // of a request that is not complete; touched by the client's pump alone
	sent int    // how much of it the server has, of a Flush
	kept []byte // of a reply that is not complete and will be lost or late; by the server's alone

	mu           sync.Mutex
	conversation Conversation
	unanswered   []fate        // of requests that the server has, oldest first
	idle         chan struct{} // closed while there is none
	hung         bool
}

// fate is what becomes of the n-th request.
type fate struct {
	n     int
	fault Fault
}

func newConn(p *Proxy, client, server net.Conn) *conn {
	c := &conn{
		proxy: p, client: client, server: server, conversation: p.framing.Open(),
		closed: make(chan struct{}), ended: make(chan struct{}), idle: make(chan struct{}),
	}
	close(c.idle)
	return c
}

// run carries bytes both ways until one side ends.
func (c *conn) run() {
	var both sync.WaitGroup
	both.Go(func() {
		c.pump(c.client, func(b []byte) (int, Part) { return c.conversation.Client(b) }, c.fromClient)
		_ = c.pass(c.server, c.held[c.sent:]) // a request that the client itself cut
		c.close()
	})
	both.Go(func() {
		c.pump(c.server, func(b []byte) (int, Part) { return c.conversation.Server(b) }, c.fromServer)
		c.close()
	})
	both.Wait()
}

// pump reads from one side and hands on what it reads, unit by unit.
func (c *conn) pump(from net.Conn, split func([]byte) (int, Part), take func([]byte, Part) error) {
	var unread []byte
	chunk := make([]byte, 32<<10)
	for {
		n, failed := from.Read(chunk)
		unread = append(unread, chunk[:n]...)
		for len(unread) > 0 {
			c.mu.Lock()
			size, part := split(unread)
			c.mu.Unlock()
			if size == 0 {
				break
			}
			if !c.isHung() && take(unread[:size], part) != nil {
				return
			}
			unread = unread[size:]
		}
		if failed != nil {
			if len(unread) > 0 {
				_ = take(unread, Aside) // an end in the middle of a unit
			}
			return
		}
	}
}

// fromClient takes a unit that the client sent.
func (c *conn) fromClient(unit []byte, part Part) error {
	if part == Aside && len(c.held) == c.sent {
		return c.pass(c.server, unit)
	}
	c.held = append(c.held, unit...)
	switch part {
	case Flush:
		unsent := c.held[c.sent:]
		c.sent = len(c.held)
		return c.pass(c.server, unsent)
	case Last:
		message, sent := c.held, c.sent
		c.held, c.sent = nil, 0
		return c.strikeRequest(message, sent)
	}
	return nil
}

// strikeRequest lets happen to a complete request what the plan says. The server has the first bytes of it
// if there was a Flush.
func (c *conn) strikeRequest(message []byte, sent int) error {
	f := c.proxy.arrive(c.id, message)
	switch {
	case f.fault.loses == request:
		return c.loseRequest(f, message, sent)
	case f.fault.hold != nil:
		c.struck(f)
		if err := wait(c, f.fault.hold); err != nil {
			return err
		}
	case f.fault.delay > 0:
		c.struck(f)
		timer := time.NewTimer(f.fault.delay)
		defer timer.Stop()
		if err := wait(c, timer.C); err != nil {
			return err
		}
	}
	c.owe(f)
	return c.pass(c.server, message[sent:])
}

// loseRequest loses a request that may be one of several on their way: the client gets the replies to those
// before it.
func (c *conn) loseRequest(f fate, message []byte, sent int) error {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	if err := wait(c, idle); err != nil || c.isHung() {
		return err
	}
	if share := f.fault.share(message); len(share) > sent {
		_ = c.pass(c.server, share[sent:])
	}
	return c.lose(f)
}

// owe notes a request that the server is to answer.
func (c *conn) owe(f fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unanswered) == 0 {
		c.idle = make(chan struct{})
	}
	c.unanswered = append(c.unanswered, f)
}

// settle notes that the oldest request is answered, and the reply passed on if it is to be.
func (c *conn) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unanswered) == 0 {
		return // it hangs since
	}
	c.unanswered = c.unanswered[1:]
	if len(c.unanswered) == 0 {
		close(c.idle)
	}
}

// fromServer takes a unit that the server sent. It is passed on at once unless it is a part of a reply
// that a fault is about.
func (c *conn) fromServer(unit []byte, part Part) error {
	c.mu.Lock()
	if part == Aside || len(c.unanswered) == 0 {
		c.mu.Unlock()
		return c.pass(c.client, unit)
	}
	f := c.unanswered[0]
	c.mu.Unlock()
	if part == Last {
		defer c.settle()
	}

	keeps := f.fault.loses == reply || f.fault.mute != nil
	if keeps {
		c.kept = append(c.kept, unit...)
	}
	if part == Last {
		c.proxy.tell(Event{Kind: Answered, Conn: c.id, N: f.n})
	}
	switch {
	case !keeps:
		return c.pass(c.client, unit)
	case part != Last:
		return nil
	}
	return c.strikeReply(f)
}

// strikeReply loses a complete reply, or lets it wait.
func (c *conn) strikeReply(f fate) error {
	message := c.kept
	c.kept = nil
	if f.fault.loses == reply {
		_ = c.pass(c.client, f.fault.share(message))
		return c.lose(f)
	}
	c.struck(f)
	if err := wait(c, f.fault.mute); err != nil {
		return err
	}
	return c.pass(c.client, message)
}
