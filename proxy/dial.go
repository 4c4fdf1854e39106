package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout       = 10 * time.Second // TCP and TLS together
	keepAlive         = 30 * time.Second
	maxIdlePerPool    = 256 // connections that wait for a request; there are two pools, see [upstream]
	maxIdleTime       = 90 * time.Second
	maxResponseHeader = 1 << 20 // bytes
	protocolHTTP2     = "h2"
)

// wireKey is the context key under which a dial is given the place to leave its wire in.
type wireKey struct{}

// newDialer returns a transport of which only NewClientConn is used: it sets up connections and pools
// none. Connections that speak HTTP/1 are wires. On HTTP/2 requests share a connection, and what was
// written on it says nothing about one of them: those are left as they are.
func newDialer(config *tls.Config) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		DialContext: dialPlain,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, network, address, config)
		},
		Protocols:              protocols,
		DisableCompression:     true, // the upstream's bytes are passed on as they are
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// dialTimed opens a TCP connection within dialTimeout.
func dialTimed(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return dialer.DialContext(ctx, network, address)
}

func dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := dialTimed(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newWire(ctx, socket, socket), nil
}

func dialTLS(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	socket, err := dialTimed(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	config.NextProtos = []string{protocolHTTP2, "http/1.1"}
	secure := tls.Client(socket, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		socket.Close()
		return nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol == protocolHTTP2 {
		return secure, nil
	}
	return newWire(ctx, secure, socket), nil
}

// newWire makes a wire and leaves it where the context says.
func newWire(ctx context.Context, conn, socket net.Conn) *wire {
	w := &wire{Conn: conn, socket: socket}
	if place, ok := ctx.Value(wireKey{}).(**wire); ok {
		*place = w
	}
	return w
}
