package retryclient

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// sends watches what one call of the base transport puts on the wire. Go's transport sends a keyed
// request again by itself when a reused connection breaks, and such a send is a try like any other.
type sends struct {
	asked   atomic.Bool // the transport looked for a connection, so it reports what it does
	reached atomic.Bool // it got one: from here on anything may have been written
	written atomic.Int32
}

func (s *sends) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { s.asked.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { s.reached.Store(true) },
		WroteHeaders: func() { s.written.Add(1) },
	})
}

// tries is how often the request was sent, and at least one: a connection that was refused is a try too.
func (s *sends) tries() int { return max(1, int(s.written.Load())) }

// neverAsked reports whether a base that would have told (see plainHTTP) refused the request before it
// looked for a connection. It would do so again.
func (s *sends) neverAsked(told bool) bool {
	return told && !s.asked.Load() && !s.reached.Load()
}

// nothingLeft reports whether the request certainly did not leave.
func (s *sends) nothingLeft(told bool) bool {
	return s.neverAsked(told) || s.asked.Load() && !s.reached.Load()
}

// plainHTTP reports whether the base asks for a connection before it writes, so that its silence says
// that nothing was written.
func plainHTTP(base http.RoundTripper, scheme string) bool {
	_, own := base.(*http.Transport)
	return own && (scheme == "" || scheme == "http" || scheme == "https")
}
