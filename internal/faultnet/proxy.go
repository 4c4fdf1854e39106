package faultnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy is a proxy in front of a server. Make one with [New]. Its methods may be called by several
// goroutines.
type Proxy struct {
	t       testing.TB
	target  string
	framing Framing
	address string

	running sync.WaitGroup
	mu      sync.Mutex

	listener net.Listener  // nil while it refuses
	hole     chan struct{} // closed when what was swallowed may go on; nil if nothing is
	conns    map[*conn]bool
	opened   int

	plan     Plan
	requests int
	struck   int
	watchers []watcher
}

// New starts a proxy in front of the server at target, host:port. It forwards everything until it is told
// otherwise, and ends with the test.
func New(t testing.TB, target string, framing Framing) *Proxy {
	t.Helper()
	p := &Proxy{t: t, target: target, framing: framing, plan: None, conns: map[*conn]bool{}}
	listener, err := listen()
	if err != nil {
		t.Fatalf("faultnet: %v", err)
	}
	p.address = listener.Addr().String()
	p.serve(listener)
	t.Cleanup(p.end)
	return p
}

// listen takes a port below those that systems give to clients: none of them must come to hold it while
// the proxy refuses.
func listen() (net.Listener, error) {
	var failed error
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(5000)))
		if err == nil {
			return listener, nil
		}
		failed = err
	}
	return nil, failed
}

// Addr is where clients connect: host:port.
func (p *Proxy) Addr() string { return p.address }

// Through returns a URL of the server as one that leads through the proxy.
func (p *Proxy) Through(dsn string) string {
	p.t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		p.t.Fatalf("faultnet: %v", err)
	}
	u.Host = p.address
	return u.String()
}

// SetPlan replaces the plan and starts to count from 1 again.
func (p *Proxy) SetPlan(plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.requests, p.struck = plan, 0, 0
}

// Requests returns how many requests have arrived since the plan was set.
func (p *Proxy) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// Struck returns how many faults have struck since the plan was set.
func (p *Proxy) Struck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

// CutAll resets all connections now, and returns when they are closed. New ones are accepted.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		c.reset()
	}
	for _, c := range conns {
		<-c.ended
	}
}

// Refuse refuses new connections until Restore. Those that are open stay so.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
}

// BlackHole lets nothing through until Restore, in either direction, on open connections and on new
// ones, which are accepted. Nothing is lost: after Restore it arrives.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole == nil {
		p.hole = make(chan struct{})
	}
}

// Restore ends Refuse and BlackHole.
func (p *Proxy) Restore() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole != nil {
		close(p.hole)
		p.hole = nil
	}
	if p.listener != nil {
		return
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Errorf("faultnet: restore: %v", err)
		return
	}
	p.serve(listener)
}

// serve accepts connections until the listener is closed.
func (p *Proxy) serve(listener net.Listener) {
	p.listener = listener
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				p.running.Go(func() { p.connect(listener, client) })
			}
		}
	})
}

// connect connects a client to the server and serves it until one of them ends.
func (p *Proxy) connect(listener net.Listener, client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // what the client sees is a connection that ends
	}
	defer server.Close()
	c := newConn(p, client, server)
	p.mu.Lock()
	if p.listener != listener { // it refuses since
		p.mu.Unlock()
		return
	}
	p.opened++
	c.id = p.opened
	p.conns[c] = true
	p.mu.Unlock()

	p.tell(Event{Kind: Opened, Conn: c.id})
	c.run()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	p.tell(Event{Kind: Closed, Conn: c.id})
	close(c.ended)
}

// end ends everything.
func (p *Proxy) end() {
	p.Refuse()
	p.CutAll()
	p.running.Wait()
}
