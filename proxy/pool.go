package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

var errPoolClosed = errors.New("the upstream was replaced")

// pool keeps connections to one upstream, each an [http.ClientConn]: it sends what it is given once, or
// says that it did not.
type pool struct {
	dialer  *http.Transport
	scheme  string
	address string

	mu     sync.Mutex
	idle   []*conn // the most recently used last
	timer  *time.Timer
	closed bool
}

// conn is a connection of a pool.
type conn struct {
	client *http.ClientConn
	wire   *wire // nil on HTTP/2

	listed bool      // in pool.idle; guarded by pool.mu
	since  time.Time // when it was listed
}

// newPool returns a pool of connections to the host of a URL, whose scheme is http or https. config is
// for TLS; nil trusts what the system trusts.
func newPool(upstream *url.URL, config *tls.Config) *pool {
	if config == nil {
		config = &tls.Config{}
	}
	port := upstream.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[upstream.Scheme]
	}
	return &pool{dialer: newDialer(config), scheme: upstream.Scheme, address: net.JoinHostPort(upstream.Hostname(), port)}
}

// get returns a connection with room for one request, reserved, and whether it has been idle.
func (p *pool) get(ctx context.Context) (c *conn, reused bool, err error) {
	for {
		c, err := p.pop()
		if err != nil {
			return nil, false, err
		}
		if c == nil {
			c, err = p.dial(ctx)
			return c, false, err
		}
		if c.client.Reserve() != nil {
			continue // closed; or full, and then it is listed again when it has room
		}
		if c.wire != nil && !quiet(c.wire.socket) {
			c.client.Release()
			c.client.Close()
			continue
		}
		p.list(c) // HTTP/2 has room for more
		return c, true, nil
	}
}

// dial makes a connection with room for one request, reserved.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, errors.New("the upstream did not accept a connection in time"))
	defer cancel()
	c := &conn{}
	client, err := p.dialer.NewClientConn(context.WithValue(ctx, wireKey{}, &c.wire), p.scheme, p.address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	c.client = client
	if err := client.Reserve(); err != nil {
		client.Close()
		return nil, err
	}
	client.SetStateHook(func(*http.ClientConn) { p.list(c) })
	return c, nil
}

// list makes a connection that has room available, and forgets one that ended.
func (p *pool) list(c *conn) {
	ended, room := c.client.Err() != nil, c.client.Available() > 0
	p.mu.Lock()
	var surplus *conn
	switch {
	case ended && c.listed:
		p.unlist(slices.Index(p.idle, c))
	case ended || !room || c.listed:
	case p.closed:
		surplus = c
	default:
		c.listed, c.since = true, time.Now()
		p.idle = append(p.idle, c)
		if len(p.idle) > maxIdlePerPool {
			surplus = p.idle[0]
			p.unlist(0)
		}
		if p.timer == nil {
			p.timer = time.AfterFunc(maxIdleTime, p.reap)
		}
	}
	p.mu.Unlock()
	if surplus != nil {
		surplus.retire()
	}
}

func (p *pool) unlist(i int) {
	p.idle[i].listed = false
	p.idle = slices.Delete(p.idle, i, i+1)
}

// pop returns the connection used last, or nil.
func (p *pool) pop() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPoolClosed
	}
	if len(p.idle) == 0 {
		return nil, nil
	}
	c := p.idle[len(p.idle)-1]
	p.unlist(len(p.idle) - 1)
	return c, nil
}

// reap retires what has been idle for too long, and comes back while there is something.
func (p *pool) reap() {
	p.mu.Lock()
	keep := slices.IndexFunc(p.idle, func(c *conn) bool { return time.Since(c.since) < maxIdleTime })
	if keep < 0 {
		keep = len(p.idle)
	}
	old := slices.Clone(p.idle[:keep])
	for range old {
		p.unlist(0)
	}
	p.timer = nil
	if len(p.idle) > 0 && !p.closed {
		p.timer = time.AfterFunc(maxIdleTime, p.reap)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.retire()
	}
}

// close ends what is idle now and what becomes idle later. Requests that run are left alone.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	for _, c := range idle {
		c.listed = false
	}
	p.idle, p.closed = nil, true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	for _, c := range idle {
		c.retire()
	}
}

// retire closes a connection on which nothing runs; one that is in use is left to end by itself.
func (c *conn) retire() {
	if c.client.InFlight() == 0 {
		c.client.Close()
	}
}
