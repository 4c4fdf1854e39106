package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store/memstore"
)

// An answer that is too large to keep passes as it comes: its second half is written only after the client
// has read from the first.
func TestLargeAnswerPasses(t *testing.T) {
	t.Parallel()
	const half = 5 << 19
	halfRead := make(chan struct{})
	for name, length := range map[string]string{"of known length": fmt.Sprint(2 * half), "in chunks": ""} {
		t.Run(name, func(t *testing.T) {
			up, count := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				io.WriteString(w, strings.Repeat("a", half))
				w.(http.Flusher).Flush()
				<-halfRead
				io.WriteString(w, strings.Repeat("b", half))
			})
			f := newFront(t, memstore.New(nil), guarding(t, up))
			key := freshKey()
			response, err := f.server.Client().Transport.RoundTrip(f.request(t, http.MethodPost, "/", key, "x"))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if _, err := io.ReadFull(response.Body, make([]byte, half/2)); err != nil {
				t.Fatal(err)
			}
			halfRead <- struct{}{}
			if n, err := io.Copy(io.Discard, response.Body); err != nil || n != 2*half-half/2 {
				t.Fatalf("%d more bytes, %v", n, err)
			}
			if g := f.post(t, "/", key, "x"); g.status != 410 || g.problem() != httpguard.ProblemAnswerNotKept {
				t.Fatalf("retry: %+v", g)
			}
			if n := count.Load(); n != 1 {
				t.Errorf("the upstream got %d requests, want 1", n)
			}
		})
	}
}

// Server-sent events arrive one by one, guarded or not.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			next := make(chan struct{})
			up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range 3 {
					fmt.Fprintf(w, "data: %d\n\n", i)
					w.(http.Flusher).Flush()
					<-next
				}
			})
			f := newFront(t, memstore.New(nil), guarding(t, up))
			response, err := f.server.Client().Transport.RoundTrip(f.request(t, method, "/", freshKey(), ""))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			lines := bufio.NewReader(response.Body)
			for i := range 3 {
				if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
					t.Fatalf("event %d: %q, %v", i, line, err)
				}
				lines.ReadString('\n')
				next <- struct{}{}
			}
		})
	}
}

// Without a key nothing is held back, in either direction.
func TestUnkeyedPasses(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Content-Type", "text/plain")
		piece := make([]byte, 4)
		for {
			if _, err := io.ReadFull(r.Body, piece); err != nil {
				return
			}
			w.Write(piece)
			w.(http.Flusher).Flush()
		}
	})
	f := newFront(t, memstore.New(nil), guarding(t, up))
	body, write := io.Pipe()
	r := f.request(t, http.MethodPost, "/", "", "")
	r.Body, r.ContentLength = body, -1
	go write.Write([]byte("ping"))
	response, err := f.server.Client().Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for _, piece := range []string{"ping", "pong", "done"} {
		if piece != "ping" {
			write.Write([]byte(piece))
		}
		back := make([]byte, 4)
		if _, err := io.ReadFull(response.Body, back); err != nil || string(back) != piece {
			t.Fatalf("got %q, %v, want %q", back, err, piece)
		}
	}
	write.Close()
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// A connection that becomes something else passes both ways.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		line, _ := buffered.ReadString('\n')
		io.WriteString(c, strings.ToUpper(line))
	})
	f := newFront(t, memstore.New(nil), guarding(t, up))
	c, err := net.Dial("tcp", f.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nIdempotency-Key: k\r\n\r\n")
	reader := bufio.NewReader(c)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != 101 || response.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("got %+v, %v", response, err)
	}
	io.WriteString(c, "hello\n")
	if line, err := reader.ReadString('\n'); line != "HELLO\n" {
		t.Fatalf("got %q, %v", line, err)
	}
}

// An upstream that switches protocols though nobody asked has not answered, and its connection is not kept open.
func TestUpgradeUnasked(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{"named": "Connection: Upgrade\r\nUpgrade: websocket\r\n", "nameless": ""} {
		for method, key := range map[string]string{http.MethodPost: freshKey(), http.MethodPut: "", http.MethodGet: ""} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool {
					_, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+header+"\r\n")
					return err == nil
				})
				f := newFront(t, memstore.New(nil), guarding(t, up.url()))
				if g := f.send(f.request(t, method, "/", key, "")); g.status != 504 || g.problem() != httpguard.ProblemUpstreamNoAnswer {
					t.Errorf("got %+v", g)
				}
				select {
				case <-up.gone:
				case <-time.After(time.Minute):
					t.Error("the connection is still open")
				}
			})
		}
	}
}

// Clients that offer HTTP/2 with each request are guarded like others, and so are those that claim to leave HTTP.
func TestOfferOfAnUpgrade(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			t.Error("the offer was passed on")
		}
		io.WriteString(w, "made")
	})
	f := newFront(t, memstore.New(nil), guarding(t, up))
	for i, protocol := range []string{"h2c", "TLS/1.2"} {
		key := freshKey()
		for range 2 {
			r := f.request(t, http.MethodPost, "/", key, "x")
			r.Header.Set("Connection", "Upgrade, HTTP2-Settings")
			r.Header.Set("Upgrade", protocol)
			r.Header.Set("Http2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")
			if g := f.send(r); g.body != "made" {
				t.Fatalf("%s: got %+v", protocol, g)
			}
		}
		if n := int(count.Load()); n != i+1 {
			t.Errorf("%s: the upstream got %d requests, want %d", protocol, n, i+1)
		}
	}
}

// A client that waits for permission to send its body gets it.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	f := newFront(t, memstore.New(nil), guarding(t, up))
	for _, key := range []string{"", freshKey()} {
		r := f.request(t, http.MethodPost, "/", key, "book")
		r.Header.Set("Expect", "100-continue")
		if g := f.send(r); g.body != "book" {
			t.Errorf("key %q: got %+v", key, g)
		}
	}
}

// Whoever closes when the time for draining is over already, because a stream took it, is not told that requests were cut off when none was.
func TestClosingWithoutTime(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	up, _ := serving(t, nil)
	for range 20 { // both were ready, and one was chosen at random
		p, err := New(t.Context(), memstore.New(nil), guarding(t, up), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(over); err != nil {
			t.Fatal(err)
		}
	}
}
