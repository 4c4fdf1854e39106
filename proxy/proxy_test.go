package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

func TestOnce(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store.Store) {
		up, count := serving(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Idempotency-Key") == "" {
				t.Error("the upstream did not get the key")
			}
			w.Header().Set("Location", "/orders/7")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
		})
		f := newFront(t, s, guarding(t, up))
		for _, path := range []string{"/orders?a=1;b&c=%zz", "/a%2Fb/c", "//double//slash", "/up/../down"} {
			count.Store(0)
			key := freshKey()
			first, again := f.post(t, path, key, "book"), f.post(t, path, key, "book")
			if want := "POST " + path + " book"; first.status != 201 || first.body != want || first.replayed() {
				t.Fatalf("first: %+v, want %q", first, want)
			}
			if again.status != 201 || again.body != first.body || again.header.Get("Location") != "/orders/7" || !again.replayed() {
				t.Fatalf("again: %+v", again)
			}
			if other := f.post(t, path, key, "pen"); other.problem() != httpguard.ProblemKeyReused {
				t.Fatalf("another body: %+v", other)
			}
			if n := count.Load(); n != 1 {
				t.Fatalf("%s: the upstream got %d requests, want 1", path, n)
			}
		}
	})
}

func TestParallel(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store.Store) {
		up, count := serving(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
		fronts := []*front{newFront(t, s, guarding(t, up)), newFront(t, s, guarding(t, up))}
		key := freshKey()
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				if g := fronts[i%2].post(t, "/", key, ""); g.status != 200 && g.problem() != httpguard.ProblemInProgress {
					t.Errorf("got %+v", g)
				}
			})
		}
		callers.Wait()
		if n := count.Load(); n != 1 {
			t.Errorf("the upstream got %d requests, want 1", n)
		}
	})
}

// What the upstream does to a connection never makes a second request of one: O38, O39.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "book"} {
		t.Run(fmt.Sprintf("body %q", body), func(t *testing.T) {
			t.Parallel()
			t.Run("idle", func(t *testing.T) {
				t.Parallel()
				up := newRawServer(t, func(c net.Conn, _ int, _ *http.Request) bool { answer(c, "made"); return false })
				f := newFront(t, memstore.New(nil), guarding(t, up.url()))
				for range 5 {
					if g := f.post(t, "/", freshKey(), body); g.status != 201 || g.body != "made" {
						t.Fatalf("got %+v", g)
					}
					<-up.gone
				}
				if n := up.requests.Load(); n != 5 {
					t.Errorf("the upstream got %d requests, want 5", n)
				}
			})
			for name, last := range map[string]string{"read and closed": "", "half a body": "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf"} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					up := newRawServer(t, func(c net.Conn, n int, _ *http.Request) bool {
						if n == 1 {
							return answer(c, "made")
						}
						io.WriteString(c, last)
						return false
					})
					f := newFront(t, memstore.New(nil), guarding(t, up.url()))
					f.post(t, "/", freshKey(), body)
					key := freshKey()
					if g := f.post(t, "/", key, body); g.status != 504 || g.problem() != httpguard.ProblemUpstreamNoAnswer {
						t.Fatalf("got %+v", g)
					}
					if g := f.post(t, "/", key, body); g.status != 409 || g.problem() != httpguard.ProblemOutcomeUnknown {
						t.Fatalf("retry: %+v", g)
					}
					if n := up.requests.Load(); n != 2 {
						t.Errorf("the upstream got %d requests, want 2", n)
					}
				})
			}
		})
	}
}

// An upstream that cannot be reached has done nothing, and the key works later.
func TestUnreachableThenBack(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, memstore.New(nil), guarding(t, &url.URL{Scheme: "http", Host: gone.Addr().String()}))
	gone.Close()
	key := freshKey()
	if g := f.post(t, "/", key, "book"); g.status != 502 || g.problem() != httpguard.ProblemUpstreamUnreachable || g.header.Get("Retry-After") == "" {
		t.Fatalf("got %+v", g)
	}
	back, err := net.Listen("tcp", gone.Addr().String())
	if err != nil {
		t.Skip("another process has taken the port:", err)
	}
	go http.Serve(back, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") }))
	t.Cleanup(func() { back.Close() })
	if g := f.post(t, "/", key, "book"); g.status != 200 || g.body != "made" {
		t.Fatalf("got %+v", g)
	}
}

func TestStatusesOfTheUpstream(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Nothing") != "" {
			w.Header().Set(httpguard.HeaderNoEffect, "true")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	f := newFront(t, memstore.New(nil), guarding(t, up))
	key := freshKey()
	if g := f.post(t, "/", key, ""); g.status != 503 || g.problem() != "" {
		t.Fatalf("503 is passed on, and got %+v", g)
	}
	if g := f.post(t, "/", key, ""); g.problem() != httpguard.ProblemOutcomeUnknown {
		t.Fatalf("a 503 leaves the outcome unknown, and got %+v", g)
	}
	for range 2 {
		r := f.request(t, http.MethodPost, "/", "nothing", "")
		r.Header.Set("X-Nothing", "1")
		if g := f.send(r); g.status != 503 || g.header.Get(httpguard.HeaderNoEffect) != "" {
			t.Fatalf("the upstream said that nothing happened, and got %+v", g)
		}
	}
	if n := count.Load(); n != 3 {
		t.Errorf("the upstream got %d requests, want 3", n)
	}
}

func TestReplaysAreEqual(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 1<<20)
	rand.Read(noise)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(bytes.Repeat([]byte("zip "), 1000))
	z.Close()
	answers := map[string]http.HandlerFunc{
		"/204":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"/empty": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/x/1"); w.WriteHeader(201) },
		"/gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped.Bytes())
		},
		"/lines": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Link"] = []string{"<a>; rel=next", "<b>; rel=last"}
			w.Header().Set("ETag", `"1"`)
			io.WriteString(w, "lines")
		},
		"/noise": func(w http.ResponseWriter, _ *http.Request) { w.Write(noise) },
		"/chunks": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 20 {
				fmt.Fprintf(w, "piece %d\n", i)
				w.(http.Flusher).Flush()
			}
		},
		"/400": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 400) },
	}
	up, count := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=1")
		answers[r.URL.Path](w, r)
	})
	onStores(t, func(t *testing.T, s store.Store) {
		f := newFront(t, s, guarding(t, up))
		for path := range answers {
			key := freshKey()
			r := f.request(t, http.MethodPost, path, key, "")
			r.Header.Set("Accept-Encoding", "gzip")
			first, again := f.send(r), f.send(r.Clone(t.Context()))
			if first.err != nil || first.header.Get("Set-Cookie") == "" || first.replayed() {
				t.Fatalf("%s: first: %d %v %v", path, first.status, first.header, first.err)
			}
			if !again.replayed() || again.header.Get("Set-Cookie") != "" {
				t.Errorf("%s: again: %d %v", path, again.status, again.header)
			}
			for _, name := range []string{"Set-Cookie", httpguard.HeaderReplayed, httpguard.HeaderStoredAt} {
				first.header.Del(name)
				again.header.Del(name)
			}
			if first.status != again.status || first.body != again.body {
				t.Errorf("%s: first %d with %d bytes, again %d with %d bytes", path, first.status, len(first.body), again.status, len(again.body))
			}
			if diff := cmp.Diff(first.header, again.header); diff != "" {
				t.Errorf("%s: headers (-first +again):\n%s", path, diff)
			}
		}
	})
	t.Cleanup(func() {
		if n := int(count.Load()); n != 2*len(answers) {
			t.Errorf("the upstream got %d requests, want one for each path and store", n)
		}
	})
}

// A client that hangs up does not keep the answer from being recorded: O20.
func TestClientHangsUp(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store.Store) {
		arrived, gone := make(chan struct{}), make(chan struct{})
		up, count := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-gone
			io.WriteString(w, "made")
		})
		patient := route(t, "/")
		patient.Policy.Wait = 20 * time.Second // the retry waits for the answer
		f := newFront(t, s, guarding(t, up, patient))
		key := freshKey()
		ctx, hangUp := context.WithCancel(t.Context())
		first := make(chan got)
		go func() { first <- f.send(f.request(t, http.MethodPost, "/", key, "").WithContext(ctx)) }()
		<-arrived
		hangUp()
		if g := <-first; g.err == nil {
			t.Fatalf("the client hung up, and got %+v", g)
		}
		close(gone)
		if g := f.post(t, "/", key, ""); g.body != "made" || !g.replayed() {
			t.Fatalf("retry: %+v", g)
		}
		if n := count.Load(); n != 1 {
			t.Errorf("the upstream got %d requests, want 1", n)
		}
	})
}

func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, "|", r.Header.Get("X-Forwarded-For"), "|", r.Header.Get("X-Forwarded-Host"), "|", r.Header.Get("X-Forwarded-Proto"))
	})
	for _, test := range []struct {
		change func(*Settings)
		want   string
	}{
		{func(*Settings) {}, "shop.example|127.0.0.1|shop.example|http"},
		{func(s *Settings) { s.ClientHost = false }, up.Host + "|127.0.0.1|shop.example|http"},
		{func(s *Settings) { s.TrustForwarded = true }, "shop.example|10.0.0.1, 127.0.0.1|front.example|https"},
	} {
		settings := guarding(t, up)
		test.change(&settings)
		f := newFront(t, memstore.New(nil), settings)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			r := f.request(t, method, "/", freshKey(), "")
			r.Host = "shop.example"
			r.Header.Set("X-Forwarded-For", "10.0.0.1")
			r.Header.Set("X-Forwarded-Host", "front.example")
			r.Header.Set("X-Forwarded-Proto", "https")
			if g := f.send(r); g.body != test.want {
				t.Errorf("%s: got %q, want %q", method, g.body, test.want)
			}
		}
	}
}

// The most specific route's guard is used; what differs only in how the path is written is the same route.
func TestRouting(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })
	required := route(t, "/orders/")
	required.Options.Required = true
	ignored := route(t, "/free")
	ignored.Unguarded = true
	f := newFront(t, memstore.New(nil), guarding(t, up, required, ignored, route(t, "/")))
	for path, refused := range map[string]bool{
		"/orders/": true, "/orders/1": true, "/orders": true, "//orders//1": true, "/x/../orders/1": true, "/%6Frders/1": true,
		"/free": false, "/other": false, "/ordersx": false,
	} {
		if g := f.post(t, path, "", ""); (g.problem() == httpguard.ProblemKeyMissing) != refused {
			t.Errorf("%s: got %d %s", path, g.status, g.body)
		}
	}
	for path, guarded := range map[string]bool{"/free": false, "/other": true} {
		key := freshKey()
		f.post(t, path, key, "")
		if g := f.post(t, path, key, ""); g.replayed() != guarded {
			t.Errorf("%s: replayed is %v, want %v", path, g.replayed(), guarded)
		}
	}
	if g := f.send(f.request(t, http.MethodGet, "/orders/1", "", "")); g.status != 200 {
		t.Errorf("GET is not guarded, and got %+v", g)
	}
	if strings.Contains(f.post(t, "/other", "a b", "").body, "/other") {
		t.Error("a malformed key passed")
	}
}

// A name that no record can have is refused at the start, and not with each request.
func TestOperationThatCannotBeAName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"make\torder", strings.Repeat("o", 257), "\xff"} {
		up, _ := serving(t, func(http.ResponseWriter, *http.Request) {})
		bad := route(t, "/")
		bad.Operation = name
		if p, err := New(t.Context(), memstore.New(nil), guarding(t, up, bad), nil); err == nil || !strings.Contains(err.Error(), "route /: the operation") {
			t.Errorf("%.20q: %v", name, err)
			if err == nil {
				_ = p.Close(t.Context())
			}
		}
	}
}
