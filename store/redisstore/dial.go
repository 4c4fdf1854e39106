package redisstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/rueidis"
)

// dialer opens connections of the client. Each server is asked who it is before the first command: one that is
// not accepted gets none.
type dialer struct {
	dsn    DSN
	log    *slog.Logger
	crowd  *crowd
	how    *net.Dialer
	config *tls.Config
}

func newDialer(d DSN, option rueidis.ClientOption, log *slog.Logger) dialer {
	return dialer{d, log, newCrowd(d.topology == "cluster"), &option.Dialer, option.TLSConfig}
}

// errReplica is why no connection is made to a replica: it could become a primary while the connection is open.
var errReplica = errors.New("this Redis is a replica: its primary is asked")

func (d dialer) dial(ctx context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	if d.dsn.topology == "sentinel" {
		primary, err := d.primary(ctx)
		if err != nil {
			return nil, greetingError{err}
		}
		address = primary
	}
	var m member
	g, err := d.greet(ctx, address)
	if err == nil {
		m, err = judge(ctx, g, d.inspector(), address)
	}
	if err == nil {
		err = d.fits(m)
	}
	if err == nil {
		err = g.transact()
	}
	if err == nil {
		err = g.conn.SetDeadline(time.Time{})
	}
	if found, ok := errors.AsType[*suspect](err); ok {
		d.crowd.refuse(found)
	}
	if err != nil {
		g.close()
		return nil, greetingError{err}
	}
	if err := d.dsn.tolerates(m.eviction); err != nil { // refused at start; now there is no better server
		d.log.Error("reprise: records may be thrown away unnoticed", "address", address, "error", err)
	}
	return d.crowd.watch(g.conn, address, m.Identity), nil
}

// errOlder is why a server is not used that took the place of a newer one.
var errOlder = errors.New("this Redis is older than 7, and this process was started with newer ones: restart it")

// fits returns an error for a server on which scripts for Redis 7 would fail half-way.
func (d dialer) fits(m member) error {
	if m.older() && d.crowd.modern.Load() {
		return errOlder
	}
	return nil
}

// greet opens a connection and signs in. Its deadline is set.
func (d dialer) greet(ctx context.Context, address string) (g greeting, err error) {
	if g.conn, err = d.open(ctx, address); err != nil {
		return g, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(d.how.Timeout)
	}
	if err = g.conn.SetDeadline(deadline); err == nil {
		g.in = bufio.NewReader(g.conn)
		err = g.enter(d.dsn)
	}
	return g, err
}

// inspector asks other servers, on connections that end with the question.
func (d dialer) inspector() inspector {
	return inspector{names{d.dsn.prefix}, d.dsn.terms, d.dsn.topology == "cluster", d.log, func(ctx context.Context, address string) (member, error) {
		g, err := d.greet(ctx, address)
		defer g.close()
		if err != nil {
			return member{}, err
		}
		return whoIs(g.ask)
	}}
}

func (d dialer) open(ctx context.Context, address string) (net.Conn, error) {
	conn, err := d.how.DialContext(ctx, "tcp", address)
	if err != nil || d.config == nil {
		return conn, err
	}
	config := d.config.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		config.ServerName = address
	}
	ctx, cancel := context.WithTimeout(ctx, d.how.Timeout)
	defer cancel()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // nothing was sent on it
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", errNoTLS, err)
		}
		return nil, err
	}
	return secure, nil
}

// errNoTLS is what a server does that was greeted in another language: it waits for more.
var errNoTLS = errors.New("no answer came to the beginning of TLS")

// greetingError is a failure before the first command: nothing was sent.
type greetingError struct{ error }

func (e greetingError) Unwrap() error { return e.error }
