package faultnet

// Kind is a kind of [Event].
type Kind int

const (
	// Opened: a client has connected, and the proxy to the server.
	Opened Kind = iota
	// Arrived: a request has arrived at the proxy, whatever becomes of it.
	Arrived
	// Answered: the server has answered a request, whatever becomes of the reply.
	Answered
	// Struck: a fault is done; one that waits has begun to.
	Struck
	// Closed: a connection has ended, on both sides.
	Closed
)

// Event is something that happened.
type Event struct {
	Kind Kind
	// Conn is the number of the connection, counted from 1.
	Conn int
	// N is the number of the request; 0 for Opened and Closed.
	N int
}

// Is returns a condition for [Proxy.Next]: any event of a kind.
func Is(kind Kind) func(Event) bool {
	return func(e Event) bool { return e.Kind == kind }
}

// Next returns a channel that gets the first event from now on that fulfils a condition, and no other.
// The condition must not call the proxy.
func (p *Proxy) Next(condition func(Event) bool) <-chan Event {
	w := watcher{condition, make(chan Event, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, w)
	return w.found
}

type watcher struct {
	condition func(Event) bool
	found     chan Event
}

func (p *Proxy) tell(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.watchers[:0]
	for _, w := range p.watchers {
		if w.condition(e) {
			w.found <- e
		} else {
			waiting = append(waiting, w)
		}
	}
	p.watchers = waiting
}
