package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func newTestSender(t *testing.T, to *url.URL, timeout time.Duration) *sender {
	t.Helper()
	up := newPool(to, nil)
	t.Cleanup(up.close)
	return &sender{pool: up, life: context.Background(), timeout: timeout, observe: func(bool, error) {}}
}

// post makes a request such as the reverse proxy makes: with a key, and a body that cannot be rewound.
func post(t *testing.T, to *url.URL, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to.String()+"/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
	r.Header.Set("Idempotency-Key", "k")
	return r
}

// do sends and reads the whole answer.
func do(s *sender, r *http.Request) (string, error) {
	response, err := s.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return string(data), err
}

func wantSent(t *testing.T, err error, sent bool) {
	t.Helper()
	var e *sendError
	if !errors.As(err, &e) {
		t.Helper()
		t.Fatalf("error is %v, want a *sendError", err)
	}
	if e.sent != sent {
		t.Fatalf("sent is %v, want %v: %v", e.sent, sent, err)
	}
}

func withAndWithoutBody(t *testing.T, test func(t *testing.T, body string)) {
	for name, body := range map[string]string{"without body": "", "with body": `{"item":"book"}`, "with a long body": strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, body) })
	}
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	withAndWithoutBody(t, func(t *testing.T, body string) {
		up := newRawServer(t, func(c net.Conn, _ int, r *http.Request) bool {
			if body == "" && r.Header.Get("Transfer-Encoding") != "" {
				t.Error("a request without body was sent in chunks")
			}
			return answer(c, "made")
		})
		s := newTestSender(t, up.url(), 0)
		for range 5 {
			if got, err := do(s, post(t, up.url(), body)); err != nil || got != "made" {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		if c, r := up.connections.Load(), up.requests.Load(); c != 1 || r != 5 {
			t.Fatalf("%d connections, %d requests; want 1 and 5", c, r)
		}
	})
}

// The upstream ends a connection while nothing runs on it, as servers do with keep-alive time-outs. The
// request that finds it has not been sent, and is sent on a fresh connection: O38.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(net.Conn) bool{"closed": func(net.Conn) bool { return false }, "reset": reset} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withAndWithoutBody(t, func(t *testing.T, body string) {
				up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool { return answer(c, "made") && end(c) })
				s := newTestSender(t, up.url(), 0)
				for i := range 10 {
					if got, err := do(s, post(t, up.url(), body)); err != nil || got != "made" {
						t.Fatalf("request %d: got %q, %v", i, got, err)
					}
					<-up.gone
				}
				if r := up.requests.Load(); r != 10 {
					t.Fatalf("%d requests arrived, want 10", r)
				}
			})
		})
	}
}

// Nothing could be written on the connection that was idle: one send on a fresh one.
func TestNothingWritten(t *testing.T) {
	t.Parallel()
	withAndWithoutBody(t, func(t *testing.T, body string) {
		up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool { return answer(c, "made") })
		s := newTestSender(t, up.url(), 0)
		for want := range int32(3) {
			if got, err := do(s, post(t, up.url(), body)); err != nil || got != "made" {
				t.Fatalf("got %q, %v; want a send on a fresh connection", got, err)
			}
			if c, n := up.connections.Load(), up.requests.Load(); c != want+1 || n != want+1 {
				t.Fatalf("%d connections, %d requests; want %d of each", c, n, want+1)
			}
			s.pool.mu.Lock()
			wire := s.pool.idle[0].wire
			s.pool.mu.Unlock()
			wire.mu.Lock()
			wire.sealed = true // writes fail from now on, and nobody has noticed
			wire.mu.Unlock()
		}
	})
}

// Whatever the upstream does after it could read a byte, the request is not sent again.
func TestBrokenAfterSending(t *testing.T) {
	t.Parallel()
	endings := map[string]reaction{
		"closed right after reading": func(net.Conn, int, *http.Request) bool { return false },
		"reset right after reading":  func(c net.Conn, _ int, _ *http.Request) bool { return reset(c) },
		"half a status line": func(c net.Conn, _ int, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 20")
			return false
		},
		"half a header": func(c net.Conn, _ int, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 201 Created\r\nContent-Le")
			return false
		},
		"half a body": func(c net.Conn, _ int, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")
			return false
		},
		"half a chunked body": func(c net.Conn, _ int, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
			return false
		},
		"something else": func(c net.Conn, _ int, _ *http.Request) bool {
			io.WriteString(c, "SSH-2.0-OpenSSH\r\n")
			return false
		},
	}
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withAndWithoutBody(t, func(t *testing.T, body string) {
				for _, before := range []int{0, 3} { // on a fresh connection, and on one used before
					up := newRawServer(t, func(c net.Conn, n int, r *http.Request) bool {
						if n <= before {
							return answer(c, "made")
						}
						return ending(c, n, r)
					})
					s := newTestSender(t, up.url(), 0)
					for range before {
						if _, err := do(s, post(t, up.url(), body)); err != nil {
							t.Fatal(err)
						}
					}
					_, err := do(s, post(t, up.url(), body))
					wantSent(t, err, true)
					if c, r := up.connections.Load(), up.requests.Load(); c != 1 || int(r) != before+1 {
						t.Fatalf("%d connections, %d requests; want 1 and %d", c, r, before+1)
					}
				}
			})
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"before the header": "", "within the body": "HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool {
				io.WriteString(c, first)
				<-release
				return false
			})
			_, err := do(newTestSender(t, up.url(), 500*time.Millisecond), post(t, up.url(), "x"))
			close(release)
			wantSent(t, err, true)
			if !errors.Is(err, errTimeout) {
				t.Fatalf("error is %v, want the time-out", err)
			}
		})
	}
}

func TestCancelledWhileTheUpstreamWorks(t *testing.T) {
	t.Parallel()
	lost := errors.New("lease lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool {
		cancel(lost)
		io.Copy(io.Discard, c)
		return false
	})
	_, err := do(newTestSender(t, up.url(), 0), post(t, up.url(), "x").WithContext(ctx))
	wantSent(t, err, true)
	if !errors.Is(err, lost) {
		t.Fatalf("error is %v, want its cause", err)
	}
}

// What comes when all that is being sent has been cut off, because it was held up before, is not sent.
func TestNotSentAfterTheCut(t *testing.T) {
	t.Parallel()
	up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool { return answer(c, "made") })
	s := newTestSender(t, up.url(), 0)
	if _, err := do(s, post(t, up.url(), "x")); err != nil { // a connection waits from now on
		t.Fatal(err)
	}
	life, cut := context.WithCancelCause(t.Context())
	cut(errStopping)
	s.life = life
	for range 100 { // they were sent, or not, as it happened
		_, err := do(s, post(t, up.url(), "x"))
		wantSent(t, err, false)
		if !errors.Is(err, errStopping) {
			t.Fatalf("error is %v, want its cause", err)
		}
	}
	if n := up.requests.Load(); n != 1 {
		t.Errorf("%d requests arrived, want the one before", n)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, to := range map[string]string{
		"refused":                 "http://" + closed.Addr().String(),
		"no such host":            "http://reprise.invalid",
		"TLS to a plain server":   "https://" + strings.TrimPrefix(plain.URL, "http://"),
		"certificate not trusted": untrusted.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, err := url.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			_, err = do(newTestSender(t, to, 0), post(t, to, "x"))
			wantSent(t, err, false)
		})
	}
}
