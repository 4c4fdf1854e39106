package httpguard_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
)

// wantNotKept fails the test unless a retry is refused because the answer was not kept.
func wantNotKept(t *testing.T, s *service, firstStatus int) {
	t.Helper()
	document := s.post("k1").wantProblem(t, 410, "answer-not-kept")
	if document["first_status"] != float64(firstStatus) || document["stored_at"] == nil {
		t.Errorf("the first answer was %d: %v", firstStatus, document)
	}
	if s.runs.Load() != 1 {
		t.Errorf("the handler ran %d times", s.runs.Load())
	}
}

// O18: an answer that is too large passes whole, and is not run again.
func TestAnswerTooLargeToKeep(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]bool{"length announced": true, "length not announced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reprise.Policy{}, httpguard.Options{MaxKept: 1000}, func(w http.ResponseWriter, _ *http.Request) {
				if declared {
					w.Header().Set("Content-Length", "5000")
				}
				w.WriteHeader(202)
				for range 50 {
					fmt.Fprint(w, strings.Repeat("x", 100))
				}
			})
			if first := s.post("k1"); first.status != 202 || len(first.body) != 5000 || first.err != nil {
				t.Errorf("%d, %d bytes, %v", first.status, len(first.body), first.err)
			}
			wantNotKept(t, s, 202)
		})
	}
}

func TestHeadersCountAsWell(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{MaxKept: 1000}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("h", 1000))
		fmt.Fprint(w, "short")
	})
	if first := s.post("k1"); string(first.body) != "short" {
		t.Errorf("%d %q", first.status, first.body)
	}
	wantNotKept(t, s, 200)
}

// The client reads each piece before the next is written: nothing is held.
func TestLargeAnswerIsNotHeldInMemory(t *testing.T) {
	t.Parallel()
	const piece, pieces = 64 << 10, 80 // 5 MiB
	next := make(chan struct{})
	s := serve(t, reprise.Policy{}, httpguard.Options{MaxKept: piece / 2}, func(w http.ResponseWriter, _ *http.Request) {
		for range pieces {
			_, _ = w.Write(make([]byte, piece))
			<-next
		}
	})
	r := s.request("POST", "/orders", `{"item":"tea"}`, "Idempotency-Key: k1", "Content-Type: application/json")
	response, err := s.server.Client().Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	// What net/http holds back itself is less than this.
	const slack = 8 << 10
	read := 0
	for i := range pieces {
		n, err := io.ReadFull(response.Body, make([]byte, piece-slack*boolToInt(i == 0)))
		if read += n; err != nil {
			t.Fatalf("piece %d: %d bytes, %v", i, read, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(response.Body); err != nil || read+len(rest) != piece*pieces {
		t.Fatalf("%d bytes, %v", read+len(rest), err)
	}
	wantNotKept(t, s, 200)
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The record is completed before the first byte of a stream leaves.
func TestFlush(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-release
		fmt.Fprint(w, "data: 2\n\n")
	})
	r := s.request("POST", "/orders", `{"item":"tea"}`, "Idempotency-Key: k1", "Content-Type: application/json")
	response, err := s.server.Client().Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Fatalf("%q, %v", line, err)
	}
	wantNotKept(t, s, 200) // while it is being streamed
	close(release)
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Error(err)
	}
}

func TestHijack(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
		_ = conn.Close()
		if _, err := w.Write([]byte("late")); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("a write after the hijack: %v", err)
		}
	})
	if first := s.post("k1"); first.status != 202 || string(first.body) != "hello" {
		t.Errorf("%d %q %v", first.status, first.body, first.err)
	}
	wantNotKept(t, s, 101)
}

// Where there is nothing to hijack the handler is told so, and its ordinary answer is kept.
func TestHijackThatIsNotPossible(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{})
	m, err := httpguard.New(bench.Guard, httpguard.Options{Principal: httpguard.None()})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijacked: %v", err)
		}
		fmt.Fprint(w, "plain")
	}))
	if first, again := record(h, "k"), record(h, "k"); first.Body.String() != "plain" || again.Header().Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("%s, then %v", first.Body, again.Header())
	}
}

// A stream of a status that is not final is passed on, and the record says what the status means.
func TestStreamedAnswerThatIsNotFinal(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{MaxKept: 100, Upstream: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		fmt.Fprint(w, strings.Repeat("x", 1000))
	})
	if first := s.post("k1"); first.status != 503 || len(first.body) != 1000 {
		t.Errorf("%d, %d bytes", first.status, len(first.body))
	}
	s.post("k1").wantProblem(t, 409, "outcome-unknown")
}

func TestPanicInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if first := s.post("k1"); first.err == nil {
		t.Errorf("%d %q", first.status, first.body)
	}
	wantNotKept(t, s, 200)
}

// Go's reverse proxy flushes each answer whose length it does not know. Such an answer is kept all the
// same; one that is made to be read while it is written is not.
func TestBehindAReverseProxy(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		body, _ := io.ReadAll(r.Body)
		w.(http.Flusher).Flush() // so that the answer is chunked
		fmt.Fprintf(w, "got %s", body)
	}))
	t.Cleanup(upstream.Close)
	target, _ := url.Parse(upstream.URL)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = upstream.Client().Transport
	s := serve(t, reprise.Policy{}, httpguard.Options{Upstream: true}, proxy.ServeHTTP)
	first := s.post("k1")
	if string(first.body) != `got {"item":"tea"}` {
		t.Errorf("%d %s", first.status, first.body)
	}
	wantReplay(t, first, s.post("k1"))
	if a := s.send("POST", "/events", "x", "Idempotency-Key: k1"); string(a.body) != "got x" {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.send("POST", "/events", "x", "Idempotency-Key: k1").wantProblem(t, 410, "answer-not-kept")
}

// Who lost the key must not hand out an answer of its own, streamed or not.
func TestSettledWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"ordinary": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			digests, settled := make(chan machine.Digest, 1), make(chan struct{})
			s := serve(t, reprise.Policy{Lease: 6 * time.Second}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
				digests <- httpguard.RunFrom(r.Context()).Digest()
				<-settled
				w.Header().Set("X-Own", "1")
				w.WriteHeader(201)
				fmt.Fprint(w, "own answer")
				if stream {
					if err := http.NewResponseController(w).Flush(); err == nil {
						t.Error("the answer of a run that lost its key left")
					}
					if _, err := w.Write([]byte("more")); err == nil {
						t.Error("a write after the refusal succeeded")
					}
				}
			})
			first := make(chan answer, 1)
			go func() { first <- s.post("k1") }()
			digest := <-digests
			s.bench.Advance(7 * time.Second) // as if the process had stood still
			s.bench.Settle(t, digest, httpguard.Answer{Status: 200, Body: []byte("settled")}.Response())
			close(settled)
			if a := <-first; a.status != 200 || string(a.body) != "settled" || a.header.Get(httpguard.HeaderReplayed) != "true" || a.header.Get("X-Own") != "" {
				t.Errorf("%d %q %v", a.status, a.body, a.header)
			}
		})
	}
}

// A reverse proxy gives up, by a panic, when it cannot write. Who lost the key is told what the record says
// all the same, and the upstream's answer is not read to an end that may never come.
func TestSettledBehindAReverseProxy(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]http.HandlerFunc{
		"large": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3<<20)) },
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"of another protocol": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "other")
			w.WriteHeader(http.StatusSwitchingProtocols)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			digests, settled := make(chan machine.Digest, 1), make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-settled
				write(w, r)
			}))
			t.Cleanup(upstream.Close)
			target, _ := url.Parse(upstream.URL)
			proxy := httputil.NewSingleHostReverseProxy(target)
			proxy.Transport, proxy.ErrorLog = upstream.Client().Transport, silent
			s := serve(t, reprise.Policy{Lease: 6 * time.Second}, httpguard.Options{Upstream: true}, func(w http.ResponseWriter, r *http.Request) {
				digests <- httpguard.RunFrom(r.Context()).Digest()
				proxy.ServeHTTP(w, r)
			})
			first := make(chan answer, 1)
			go func() {
				first <- s.send("POST", "/orders", "x", "Idempotency-Key: k1", "Connection: Upgrade", "Upgrade: other")
			}()
			digest := <-digests
			s.bench.Advance(7 * time.Second) // as if the process had stood still
			s.bench.Settle(t, digest, httpguard.Answer{Status: 200, Body: []byte("settled")}.Response())
			close(settled)
			if a := <-first; a.status != 200 || string(a.body) != "settled" || a.header.Get(httpguard.HeaderReplayed) != "true" || a.header.Get("Content-Type") == "text/event-stream" {
				t.Errorf("%d %q %v %v", a.status, a.body, a.header, a.err)
			}
		})
	}
}

// The same when it is found out that the key is lost before anything was refused: the reverse proxy is in the
// middle of an answer, of which nothing has left, when its context ends.
func TestKeyLostBehindAReverseProxy(t *testing.T) {
	t.Parallel()
	digests := make(chan machine.Digest, 1)
	s := serve(t, reprise.Policy{Lease: time.Second, CommandTimeout: 200 * time.Millisecond}, httpguard.Options{Upstream: true}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("half of it"))
		digests <- httpguard.RunFrom(r.Context()).Digest()
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	})
	first := make(chan answer, 1)
	go func() { first <- s.post("k1") }()
	digest := <-digests
	s.bench.Advance(2 * time.Second) // as if the process had stood still
	s.bench.Settle(t, digest, httpguard.Answer{Status: 200, Body: []byte("settled")}.Response())
	if a := <-first; a.status != 200 || string(a.body) != "settled" || a.header.Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("%d %q %v %v", a.status, a.body, a.header, a.err)
	}
}

// A panic for a reason of the handler's own goes on, also after its answer was refused.
func TestPanicAfterARefusal(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{Lease: 6 * time.Second})
	m, err := httpguard.New(bench.Guard, httpguard.Options{Principal: httpguard.None()})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bench.Advance(7 * time.Second)
		bench.Settle(t, httpguard.RunFrom(r.Context()).Digest(), httpguard.Answer{Status: 200}.Response())
		w.(http.Flusher).Flush()
		panic("mistake")
	}))
	defer func() {
		if reason := recover(); reason != "mistake" {
			t.Errorf("recovered %v", reason)
		}
	}()
	record(h, "k1")
}

// A goroutine that a handler left behind reaches no other request's answer.
func TestWritesAfterTheHandlerReturned(t *testing.T) {
	t.Parallel()
	var left http.ResponseWriter
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		left = w
		fmt.Fprint(w, "answer")
	})
	s.post("k1")
	if _, err := left.Write([]byte("stray")); err == nil {
		t.Error("written")
	}
	if err := http.NewResponseController(left).Flush(); err == nil {
		t.Error("flushed")
	}
	if _, _, err := http.NewResponseController(left).Hijack(); err == nil {
		t.Error("hijacked")
	}
	left.WriteHeader(500)
	runtime.KeepAlive(s)
}
