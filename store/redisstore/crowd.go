package redisstore

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/reprise-dev/reprise/store"
)

// errStale is why a connection is given up: who is at its other end is not who was greeted, or may not be. What
// was sent on it before may have been done.
var errStale = errors.New("this Redis has changed its role or its history: it is asked again who it is")

// crowd is the open connections. A server that becomes a replica, and then a primary again that may have lost
// something, keeps its connections and its run id; so whoever is at the other end is asked now and then, and
// at once when somebody says that a key is elsewhere, and a connection is given up if it is not who was greeted.
type crowd struct {
	mu    sync.Mutex
	conns map[*watched]bool
	hints chan struct{} // holds one while somebody should look
	// suspects are the servers that were refused since one at their address was accepted, in whose place nobody else is.
	suspects map[string]*suspect
	// present is who was greeted last: in a cluster at each address, elsewhere at all, which is the key "".
	present map[string]Identity
	changes atomic.Uint64 // of present
	cluster bool
	modern  atomic.Bool // the store uses what is new in Redis 7
}

func newCrowd(cluster bool) *crowd {
	return &crowd{
		conns: map[*watched]bool{}, hints: make(chan struct{}, 1), suspects: map[string]*suspect{}, present: map[string]Identity{}, cluster: cluster,
	}
}

// refuse remembers a server that was not accepted. A client may go on with another one, which says nothing of the
// loss but that it cannot be reached.
func (c *crowd) refuse(s *suspect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspects[s.address] = s
}

// blame returns what is behind an error by which nothing was done: the server that was refused, if there is one.
func (c *crowd) blame(err error) error {
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrLost) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.suspects {
		return s
	}
	return err
}

// watched is a connection to a server that was greeted.
type watched struct {
	net.Conn
	crowd   *crowd
	address string
	id      Identity
	stale   atomic.Bool
	tail    []byte // the end of what was read last, in which a hint may have begun
}

func (c *crowd) watch(conn net.Conn, address string, id Identity) *watched {
	w := &watched{Conn: conn, crowd: c, address: address, id: id}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arrived(w)
	c.conns[w] = true
	delete(c.suspects, address)
	if !c.cluster { // there is one primary at a time
		clear(c.suspects)
	}
	return w
}

// arrived notes who is there. Where there is one primary at a time, connections to another one are given up before anything
// is sent to the new one.
func (c *crowd) arrived(w *watched) {
	place := ""
	if c.cluster {
		place = w.address
	}
	if c.present[place] == w.id {
		return
	}
	for other := range c.conns {
		if !c.cluster && other.id != w.id {
			other.stale.Store(true)
		}
	}
	c.present[place] = w.id
	c.changes.Add(1)
}

// hints are how a server that is not a primary, or not that of a key, says so. The same may stand in somebody's
// answer, which costs a question.
var hints = [...][]byte{[]byte("-MOVED "), []byte("-READONLY")}

// Read implements [net.Conn].
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	const most = 9 // the longest hint
	joint := append(w.tail, b[:min(n, most)]...)
	for _, hint := range hints {
		if bytes.Contains(b[:n], hint) || bytes.Contains(joint, hint) {
			w.crowd.hint()
		}
	}
	w.tail = append(w.tail[:0], b[max(0, n-most):n]...)
	return n, err
}

// Write implements [net.Conn].
func (w *watched) Write(b []byte) (int, error) {
	if w.stale.Load() {
		return 0, errStale
	}
	return w.Conn.Write(b)
}

// Close implements [net.Conn].
func (w *watched) Close() error {
	w.crowd.mu.Lock()
	delete(w.crowd.conns, w)
	w.crowd.mu.Unlock()
	return w.Conn.Close()
}

func (c *crowd) hint() {
	select {
	case c.hints <- struct{}{}:
	default: // somebody will look already
	}
}

// look asks every server who it is, all at once, and gives up connections to those who are others by now. One that does not answer is
// no worse than before: commands find out.
func (c *crowd) look(ctx context.Context, who func(ctx context.Context, address string) (member, error)) {
	ctx, cancel := context.WithTimeout(ctx, introduction)
	defer cancel()
	var asked sync.WaitGroup
	for address := range c.addresses() {
		asked.Go(func() {
			m, err := who(ctx, address)
			c.saw(address, m, err, ctx.Err() == nil)
		})
	}
	asked.Wait()
}

// saw draws the conclusions from what a server says of itself. A suspect that cannot be reached, or that is no primary any more, is not
// what keeps commands from being done; if it comes back it is greeted again.
func (c *crowd) saw(address string, m member, err error, inTime bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && inTime || err == nil && m.replica {
		delete(c.suspects, address)
	}
	for w := range c.conns {
		if err == nil && w.address == address && (m.replica || w.id != m.Identity) {
			w.stale.Store(true)
		}
	}
}

// addresses are those of all servers that are connected to, or were refused.
func (c *crowd) addresses() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]bool{}
	for w := range c.conns {
		all[w.address] = true
	}
	for address := range c.suspects {
		all[address] = true
	}
	return all
}
