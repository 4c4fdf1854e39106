package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// client is a connection that posts and reads answers, and nothing else: the less the load costs, the
// more of what is measured is the servers.
type client struct {
	conn  net.Conn
	in    *bufio.Reader
	out   []byte
	where string
}

// clients are a number of connections to one address.
type clients []*client

func dial(address string, n int) (clients, error) {
	all := make(clients, 0, n)
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, &client{conn: conn, in: bufio.NewReader(conn), where: address})
	}
	return all, nil
}

func (all clients) close() error {
	var failures []error
	for _, c := range all {
		failures = append(failures, c.conn.Close())
	}
	return errors.Join(failures...)
}

// rate posts from all connections for a round and returns how often a second.
func (all clients) rate(ctx context.Context, nextKey func() string) (float64, error) {
	return rate(ctx, len(all), all.posting(nextKey))
}

// times posts a number of times in all, from all connections.
func (all clients) times(n int, nextKey func() string) error {
	return times(n, len(all), all.posting(nextKey))
}

// posting returns what posts once, on a connection that is idle.
func (all clients) posting(nextKey func() string) func() error {
	idle := make(chan *client, len(all))
	for _, c := range all {
		idle <- c
	}
	return func() error {
		c := <-idle
		defer func() { idle <- c }()
		return c.post(nextKey())
	}
}

const order = `{"item":"book","quantity":1,"note":"sent by the benchmark"}`

// post sends an order under a key and reads a 201 with 256 bytes.
func (c *client) post(key string) error {
	c.out = fmt.Appendf(c.out[:0], "POST /orders HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nIdempotency-Key: %s\r\n\r\n%s",
		c.where, len(order), key, order)
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 201 ")) {
		rest, _ := c.in.Peek(c.in.Buffered())
		return fmt.Errorf("answered %s%s", status, rest)
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if length != len(answer256) {
		return fmt.Errorf("the answer has %d bytes, want %d", length, len(answer256))
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return err
}
