//go:build unix

package servicetest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// RedisConn is a connection to a Redis server that adds nothing of its own: no retries, no redirections,
// no pool. A test sees by it what the server says. It is for one goroutine.
type RedisConn struct {
	conn    net.Conn
	replies *bufio.Reader
	within  time.Duration // how long a reply may take
}

// RedisError is what a server refuses with; its first word is a code: "WRONGTYPE Operation against …".
type RedisError string

// Error implements error.
func (e RedisError) Error() string { return string(e) }

// dialRedis connects as the DSN says, with TLS verified by the certificate at the path ca; empty: by those
// that the system trusts. A reply may take as long as the context lasts from now.
func dialRedis(ctx context.Context, dsn *url.URL, ca string) (*RedisConn, error) {
	conn, err := dialPlainOrTLS(ctx, dsn, ca)
	if err != nil {
		return nil, err
	}
	c := &RedisConn{conn: conn, replies: bufio.NewReader(conn), within: patience}
	if end, ok := ctx.Deadline(); ok {
		c.within = time.Until(end)
	}
	if err := c.enter(dsn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

func dialPlainOrTLS(ctx context.Context, dsn *url.URL, ca string) (net.Conn, error) {
	if dsn.Scheme != "rediss" {
		return (&net.Dialer{}).DialContext(ctx, "tcp", dsn.Host)
	}
	config := &tls.Config{ServerName: dsn.Hostname()}
	if ca != "" {
		certificate, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(certificate)
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", dsn.Host)
}

// enter logs in and selects the database.
func (c *RedisConn) enter(dsn *url.URL) error {
	if password, set := dsn.User.Password(); set {
		login := []string{"AUTH", password}
		if user := dsn.User.Username(); user != "" {
			login = []string{"AUTH", user, password}
		}
		if _, err := c.Do(login...); err != nil {
			return err
		}
	}
	if database := strings.TrimPrefix(dsn.Path, "/"); database != "" && database != "0" {
		_, err := c.Do("SELECT", database)
		return err
	}
	return nil
}

// Close closes the connection.
func (c *RedisConn) Close() error { return c.conn.Close() }

// Do sends a command and returns its reply: a string, an int64, nil, or a []any of those. What the server
// refuses is a [RedisError].
func (c *RedisConn) Do(command ...string) (any, error) {
	if err := c.Send(command); err != nil {
		return nil, err
	}
	return c.Receive()
}

// Send sends commands at once, and waits for no reply.
func (c *RedisConn) Send(commands ...[]string) error {
	var request []byte
	for _, command := range commands {
		request = fmt.Appendf(request, "*%d\r\n", len(command))
		for _, argument := range command {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(argument), argument)
		}
	}
	if err := c.conn.SetDeadline(time.Now().Add(c.within)); err != nil {
		return err
	}
	_, err := c.conn.Write(request)
	return err
}

// Receive returns the next reply, or what the server sends by itself. Maps, sets and pushes of RESP3
// are lists like others. An error inside of a list is an element of it.
func (c *RedisConn) Receive() (any, error) {
	value, err := c.value()
	if refused, ok := value.(RedisError); ok {
		return nil, refused
	}
	return value, err
}

func (c *RedisConn) value() (any, error) {
	line, err := c.replies.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, text := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+', '#', ',', '(':
		return text, nil
	case '-':
		return RedisError(text), nil
	case '_':
		return nil, nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("not a reply of Redis: %q", line)
	}
	switch {
	case kind == ':':
		return number, nil
	case number < 0:
		return nil, nil
	case kind == '$' || kind == '=' || kind == '!':
		return c.bulk(kind, int(number))
	case kind == '%':
		return c.list(2 * int(number))
	case kind == '*' || kind == '~' || kind == '>':
		return c.list(int(number))
	}
	return nil, fmt.Errorf("not a reply of Redis: %q", line)
}

func (c *RedisConn) bulk(kind byte, size int) (any, error) {
	content := make([]byte, size+len("\r\n"))
	if _, err := io.ReadFull(c.replies, content); err != nil {
		return nil, err
	}
	if kind == '!' {
		return RedisError(content[:size]), nil
	}
	return string(content[:size]), nil
}

func (c *RedisConn) list(length int) (any, error) {
	elements := make([]any, length)
	for i := range elements {
		var err error
		if elements[i], err = c.value(); err != nil {
			return nil, err
		}
	}
	return elements, nil
}
