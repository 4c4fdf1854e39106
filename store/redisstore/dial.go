package redisstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"
)

// dialer opens connections of the client. Each server is asked who it is before the first command: one that is
// not accepted gets none.
type dialer struct{ dsn DSN }

func (d dialer) dial(ctx context.Context, address string, net *net.Dialer, config *tls.Config) (net.Conn, error) {
	conn, err := open(ctx, address, net, config)
	if err != nil || d.dsn.topology == "sentinel" && slices.Contains(d.dsn.hosts, address) {
		return conn, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(net.Timeout)
	}
	err = conn.SetDeadline(deadline)
	if err == nil {
		g := greeting{conn, bufio.NewReader(conn)}
		if err = g.enter(d.dsn); err == nil {
			err = judge(g.ask, names{d.dsn.prefix}, address)
		}
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close() // nothing was asked of it
		return nil, greetingError{err}
	}
	return conn, nil
}

func open(ctx context.Context, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return d.DialContext(ctx, "tcp", address)
	}
	t := tls.Dialer{NetDialer: d, Config: config}
	return t.DialContext(ctx, "tcp", address)
}

// greetingError is a failure before the first command: nothing was sent.
type greetingError struct{ error }

func (e greetingError) Unwrap() error { return e.error }
