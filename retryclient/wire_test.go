package retryclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/retryclient"
)

// recorder is a real server that notes the requests it has read, and may hang up instead of answering.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	keys   []string
	bodies []string
}

func newRecorder(t *testing.T, answer func(n int, w http.ResponseWriter)) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.keys, r.bodies = append(r.keys, req.Header.Get("Idempotency-Key")), append(r.bodies, string(body))
		n := len(r.keys)
		r.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) seen() ([]string, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys, r.bodies
}

func hangUp(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

var fast = retryclient.Options{FirstBackoff: time.Millisecond, MaxBackoff: time.Millisecond, MaxTries: 4}

// The server hangs up after it read the request. Each send that it saw is a try that was counted, also
// those that Go's transport makes by itself on a reused connection (case O38).
func TestEverySendIsCounted(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"coffee", ""} {
		server := newRecorder(t, func(n int, w http.ResponseWriter) {
			if n > 1 {
				hangUp(w)
			}
		})
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		client := retryclient.Client(transport, fast)
		send := func() error {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
			if body == "" {
				req.Body, req.GetBody = nil, nil
			}
			_, _, err := do(t, client, req)
			return err
		}
		if err := send(); err != nil { // leaves a connection to be reused
			t.Fatal(err)
		}
		var unknown *retryclient.UnknownError
		if err := send(); !errors.As(err, &unknown) {
			t.Fatalf("body %q: error %v", body, err)
		}
		keys, bodies := server.seen()
		if got := len(keys) - 1; got != unknown.Tries || got < 4 {
			t.Errorf("body %q: the server read %d requests, the error says %d", body, got, unknown.Tries)
		}
		for i := 2; i < len(keys); i++ {
			if keys[i] != keys[1] || bodies[i] != body {
				t.Errorf("try %d: key %s, body %q", i, keys[i], bodies[i])
			}
		}
	}
}

// What certainly was not sent is not unknown.
func TestNothingSent(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = refusing.Close()
	for name, url := range map[string]string{
		"refused connection":    "http://" + refusing.Addr().String(),
		"unknown certificate":   secure.URL,
		"no host":               "http:///path",
		"malformed header line": "http://orders.test/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("coffee"))
			if name == "malformed header line" {
				req.Header.Set("X", "a\nb")
			}
			tries := 0
			req.GetBody = func() (io.ReadCloser, error) {
				tries++
				return io.NopCloser(strings.NewReader("coffee")), nil
			}
			_, err := retryclient.New(&http.Transport{}, fast).RoundTrip(req)
			if err == nil || errors.Is(err, retryclient.ErrUnknown) {
				t.Errorf("error %v", err)
			}
			if want := map[bool]int{true: fast.MaxTries, false: 1}[name == "refused connection"]; tries != want {
				t.Errorf("%d tries, want %d", tries, want)
			}
			var certificate *tls.CertificateVerificationError
			if name == "unknown certificate" && !errors.As(err, &certificate) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A caller that gives up while the server works can ask again with the key of the error.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	server := newRecorder(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			cancel()
			<-release
		}
	})
	client := retryclient.Client(&http.Transport{}, fast)
	t.Cleanup(client.CloseIdleConnections)
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("coffee"))
	_, _, err := do(t, client, req)
	close(release)
	var unknown *retryclient.UnknownError
	if !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	req, _ = http.NewRequestWithContext(retryclient.WithKey(t.Context(), unknown.Key), http.MethodPost, server.URL, strings.NewReader("coffee"))
	if _, _, err := do(t, client, req); err != nil {
		t.Fatal(err)
	}
	if keys, _ := server.seen(); len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("keys %q", keys)
	}
}

// A problem that breaks off says nothing: a first try that was told "in progress" in that way is not answered by it.
func TestAProblemThatBreaksOff(t *testing.T) {
	t.Parallel()
	for _, forever := range []bool{false, true} {
		server := newRecorder(t, func(n int, w http.ResponseWriter) {
			if n > 1 && !forever {
				w.WriteHeader(http.StatusCreated)
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"type":"`)
		})
		client := &http.Client{Transport: retryclient.New(nil, fast)}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("order"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		unknown, doubtful := errors.AsType[*retryclient.UnknownError](err)
		switch keys, _ := server.seen(); {
		case forever && (!doubtful || unknown.Tries != fast.MaxTries):
			t.Errorf("always: %v, %v after %d tries", response, err, len(keys))
		case !forever && (err != nil || response.StatusCode != http.StatusCreated || len(keys) != 2 || keys[0] != keys[1]):
			t.Errorf("once: %v, %v with the keys %v", response, err, keys)
		}
		if response != nil {
			_ = response.Body.Close()
		}
	}
}
