package retryclient

import (
	"net/http"
	"slices"
)

// Transport is an [http.RoundTripper] that makes guarded requests safe to repeat, and repeats them. It
// can be used by several goroutines. Make one with [New].
type Transport struct {
	base    http.RoundTripper
	options Options
}

// New returns a transport over base; nil is [http.DefaultTransport]. The base must send each request as
// it gets it: a base that repeats requests of its own accord multiplies the tries.
func New(base http.RoundTripper, options Options) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{base: base, options: options.withDefaults()}
}

// Client returns a client over [New]. It has no Timeout: see the package comment.
func Client(base http.RoundTripper, options Options) *http.Client {
	return &http.Client{Transport: New(base, options)}
}

// RoundTrip implements [http.RoundTripper]. The package comment says what comes back. The key of the
// call is in the header of the returned response's Request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !slices.Contains(t.options.Methods, req.Method) {
		return t.base.RoundTrip(req)
	}
	key, err := t.keyOf(req)
	if err == nil && req.URL == nil {
		err = invalid("the request has no URL")
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	body, err := bodyOf(req, t.options.MaxBody)
	if err != nil {
		return nil, err
	}
	c := call{transport: t, request: req, key: key, body: body}
	return c.run(req.Context(), newPace(&t.options))
}

// CloseIdleConnections closes those of the base, for [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
