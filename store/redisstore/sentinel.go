package redisstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Behind Sentinel each new connection asks where the primary is. The driver has a client of its own for that, which is
// not used: while it is refused the primary, as long as nobody has accepted it, that one asks in ever more loops beside
// each other.

// sentinelPatience is how long a Sentinel may take, and sentinelEvery how often they are asked whether connections
// lead to the primary still: one that hangs tells nobody that it was replaced.
const (
	sentinelPatience = time.Second
	sentinelEvery    = 2 * time.Second
)

// primary asks the Sentinels, one after the other, where the primary is.
func (d dialer) primary(ctx context.Context) (address string, err error) {
	var failed error
	for _, sentinel := range d.dsn.hosts {
		if address, err = d.askSentinel(ctx, sentinel); err == nil {
			return address, nil
		}
		failed = errors.Join(failed, fmt.Errorf("the Sentinel at %s: %w", sentinel, err))
	}
	return "", failed
}

func (d dialer) askSentinel(ctx context.Context, sentinel string) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sentinelPatience)
	defer cancel()
	conn, err := d.open(ctx, sentinel)
	if err != nil {
		return "", err
	}
	g := greeting{conn, bufio.NewReader(conn)}
	defer g.close()
	if err := conn.SetDeadline(time.Now().Add(sentinelPatience)); err != nil {
		return "", err
	}
	if err := g.enterSentinel(d.dsn); err != nil {
		return "", err
	}
	text, err := g.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", d.dsn.master)
	if err != nil {
		return "", err
	}
	host, port, ok := strings.Cut(text, " ")
	if !ok {
		return "", fmt.Errorf("it watches no master of the name %q: check the DSN", d.dsn.master)
	}
	return net.JoinHostPort(host, port), nil
}

// enterSentinel signs in, where Sentinels have a password.
func (g greeting) enterSentinel(d DSN) error {
	query := d.url.Query()
	user, password := query.Get("sentinel-user"), query.Get("sentinel-password")
	words := []string{"AUTH", user, password}
	switch {
	case password == "":
		return nil
	case user == "":
		words = []string{"AUTH", password}
	}
	_, err := g.ask(words...)
	return err
}

// dialPrimary opens a connection to the primary, whoever that is.
func (d dialer) dialPrimary(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	address, err := d.primary(ctx)
	if err != nil {
		return nil, greetingError{err}
	}
	return d.open(ctx, address)
}

// keepAsking gives up connections to who is not the primary any more, until ctx ends.
func (d dialer) keepAsking(ctx context.Context) {
	for pause(ctx, sentinelEvery) {
		if address, err := d.primary(ctx); err == nil {
			d.crowd.leave(address)
		}
	}
}

// leave gives up the connections to all servers but one.
func (c *crowd) leave(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.conns {
		if w.address != address {
			w.stale.Store(true)
		}
	}
}
