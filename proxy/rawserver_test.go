package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// rawServer is an upstream that speaks HTTP/1 by hand, so that it can misbehave at any byte. It counts.
type rawServer struct {
	listener    net.Listener
	connections atomic.Int32
	requests    atomic.Int32
	gone        chan struct{} // receives after each connection that the server closed
	done        sync.WaitGroup
}

// reaction is what the server does with the n-th request on a connection, counted from 1. It returns
// false to close the connection.
type reaction func(c net.Conn, n int, r *http.Request) bool

func newRawServer(t *testing.T, react reaction) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: listener, gone: make(chan struct{}, 100)}
	s.done.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			t.Cleanup(func() { c.Close() })
			s.done.Go(func() { s.serve(c, react) })
		}
	})
	t.Cleanup(func() { listener.Close() })
	return s
}

func (s *rawServer) serve(c net.Conn, react reaction) {
	defer func() { c.Close(); s.gone <- struct{}{} }()
	reader := bufio.NewReader(c)
	for n := 1; ; n++ {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		s.requests.Add(1)
		if !react(c, n, r) {
			return
		}
	}
}

func (s *rawServer) url() *url.URL { return &url.URL{Scheme: "http", Host: s.listener.Addr().String()} }

// answer writes an answer that keeps the connection alive.
func answer(c net.Conn, body string) bool {
	_, err := fmt.Fprintf(c, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return err == nil
}

// reset makes the close of a connection a reset.
func reset(c net.Conn) bool {
	c.(*net.TCPConn).SetLinger(0)
	return false
}
