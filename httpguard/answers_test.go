package httpguard_test

import (
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
)

// O5, O19, O24: what was answered is answered again, byte for byte.
func TestReplaysEqualTheFirstAnswer(t *testing.T) {
	t.Parallel()
	random := make([]byte, 1<<20)
	_, _ = rand.Read(random)
	for name, handler := range map[string]http.HandlerFunc{
		"nothing at all": func(http.ResponseWriter, *http.Request) {},
		"204":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"empty 201 with Location": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/orders/1")
			w.WriteHeader(201)
		},
		"404":           http.NotFound,
		"redirect":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 303) },
		"503 of ours":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", 503) },
		"unusual":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599); fmt.Fprint(w, "odd") },
		"304":           func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"1"`); w.WriteHeader(304) },
		"1 MiB":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(random) },
		"bytes by byte": func(w http.ResponseWriter, _ *http.Request) { writeSlowly(w, random[:3000]) },
		"headers of several lines": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Link"] = []string{"</c>", "</a>", "</b>", "</a>"}
			w.Header().Set("ETag", `W/"7"`)
			fmt.Fprint(w, "x")
		},
		"no content type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "<html>")
		},
		"sniffed content type": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"date of its own": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
		},
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			fmt.Fprint(zip, strings.Repeat("squeeze ", 1000))
			_ = zip.Close()
		},
		"header set too late": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("Late", "not sent")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reprise.Policy{}, httpguard.Options{}, handler)
			bare := s.send("POST", "/orders", "") // without a key: unguarded
			first := s.post("k1")
			again := s.post("k1")
			if first.header.Get("Late") != "" {
				t.Error("a header that was set after the status was sent")
			}
			if bare.status != first.status || string(bare.body) != string(first.body) || bare.header.Get("Content-Type") != first.header.Get("Content-Type") {
				t.Errorf("guarded %d %.50q %v, unguarded %d %.50q %v", first.status, first.body, first.header, bare.status, bare.body, bare.header)
			}
			wantReplay(t, first, again)
			if s.runs.Load() != 2 {
				t.Errorf("the handler ran %d times", s.runs.Load())
			}
		})
	}
}

func writeSlowly(w io.Writer, data []byte) {
	for i := range data {
		_, _ = w.Write(data[i : i+1])
	}
}

// O18: what is for the first caller's eyes, or about one connection, is sent once and never replayed.
func TestNeverReplayed(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Add("Set-Cookie", "session=1")
		h.Add("Set-Cookie", "other=2")
		h["set-cookie2"] = []string{"session=3"} // as it is not spelt
		h.Set("WWW-Authenticate", "Basic")
		h.Set("Proxy-Authenticate", "Basic")
		h.Set("Keep-Alive", "timeout=5")
		h.Set("Connection", "X-Hop, keep-alive")
		h.Set("X-Hop", "1")
		h.Set("X-Stays", "1")
		fmt.Fprint(w, "hello")
	})
	first, again := s.post("k1"), s.post("k1")
	if got := first.header["Set-Cookie"]; len(got) != 2 {
		t.Errorf("the first caller got the cookies %q", got)
	}
	for _, name := range []string{"Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Proxy-Authenticate", "Keep-Alive", "X-Hop", "Connection"} {
		if first.header.Get(name) == "" && name != "Connection" {
			t.Errorf("%s is missing in the first answer", name)
		}
		if again.header.Get(name) != "" {
			t.Errorf("%s was replayed: %q", name, again.header[name])
		}
	}
	if again.header.Get("X-Stays") != "1" || string(again.body) != "hello" {
		t.Errorf("%v %s", again.header, again.body)
	}
}

// What a middleware outside set for this request is not replaced by what it set for the first one.
func TestHeadersOfOuterMiddleware(t *testing.T) {
	t.Parallel()
	bench := serve(t, reprise.Policy{}, httpguard.Options{}, created).bench
	m, err := httpguard.New(bench.Guard, httpguard.Options{Principal: httpguard.None()})
	if err != nil {
		t.Fatal(err)
	}
	inner := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "Accept")
		fmt.Fprint(w, "x")
	}))
	n := 0
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("X-Request-Id", fmt.Sprint(n))
		w.Header().Set("Vary", "Origin")
		inner.ServeHTTP(w, r)
	})
	first, again := record(outer, "k"), record(outer, "k")
	for i, a := range []http.Header{first.Header(), again.Header()} {
		if a.Get("X-Request-Id") != fmt.Sprint(i+1) || strings.Join(a["Vary"], ",") != "Origin,Accept" {
			t.Errorf("answer %d: %v", i+1, a)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"written":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "12345") },
		"declared": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "5") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reprise.Policy{}, httpguard.Options{Methods: []string{"HEAD"}}, handler)
			first := s.send("HEAD", "/", "", "Idempotency-Key: k")
			again := s.send("HEAD", "/", "", "Idempotency-Key: k")
			if first.header.Get("Content-Length") != "5" {
				t.Errorf("%v", first.header)
			}
			wantReplay(t, first, again)
		})
	}
}

func TestTrailers(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Checksum, signature")
		w.Header().Set("Signature", "before the first byte")
		fmt.Fprint(w, "hello")
		w.Header().Set("Checksum", "abc")
		w.Header().Set(http.TrailerPrefix+"More", "def")
	})
	first, again := s.post("k1"), s.post("k1")
	if first.trailer.Get("Checksum") != "abc" || first.trailer.Get("More") != "def" || first.trailer.Get("Signature") == "" || string(first.body) != "hello" {
		t.Errorf("first: %q, trailers %v", first.body, first.trailer)
	}
	if again.status != 200 || string(again.body) != "hello" || len(again.trailer) != 0 || again.header.Get("Checksum") != "" || again.header.Get("Signature") != "" {
		t.Errorf("replay: %q, headers %v, trailers %v", again.body, again.header, again.trailer)
	}
}

func TestInformationalAnswersPass(t *testing.T) {
	t.Parallel()
	hinted := make(chan struct{}, 2)
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		<-hinted // the client has it, and nothing else has left
		w.Header().Del("Link")
		w.WriteHeader(201)
	})
	r := s.request("POST", "/", "x", "Idempotency-Key: k")
	first := s.do(r.WithContext(traceHints(r.Context(), t, hinted)))
	if first.status != 201 || first.header.Get("Link") != "" {
		t.Errorf("%d %v", first.status, first.header)
	}
	wantReplay(t, first, s.send("POST", "/", "x", "Idempotency-Key: k"))
}

// An answer that ends before its announced end is passed on as broken as it is. It is no answer.
func TestAnswerShorterThanAnnounced(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "only this")
	})
	if first := s.post("k1"); first.err == nil {
		t.Errorf("the client took it for whole: %d %q", first.status, first.body)
	}
	s.post("k1").wantProblem(t, 409, "outcome-unknown")
}

func TestWritesThatNetHTTPRefuses(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 2)
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/204" {
			w.WriteHeader(204)
		} else {
			w.Header().Set("Content-Length", "2")
		}
		_, err := w.Write([]byte("more"))
		failed <- err
	})
	s.send("POST", "/204", "", "Idempotency-Key: a")
	if err := <-failed; err != http.ErrBodyNotAllowed {
		t.Errorf("body of a 204: %v", err)
	}
	s.send("POST", "/200", "", "Idempotency-Key: b")
	if err := <-failed; err != http.ErrContentLength {
		t.Errorf("body longer than announced: %v", err)
	}
}
