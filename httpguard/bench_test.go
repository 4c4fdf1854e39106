package httpguard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/reprisetest"
)

// sink is a response writer that costs nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}

// order is a handler with an answer of the usual size.
func order(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, strings.Repeat("x", 256))
}

func benchmark(b *testing.B, key func(n int) string, guard bool) {
	m, err := httpguard.New(reprisetest.New(b, reprise.Policy{}).Guard, httpguard.Options{Principal: httpguard.Authorization()})
	if err != nil {
		b.Fatal(err)
	}
	h := http.Handler(http.HandlerFunc(order))
	if guard {
		h = m.Wrap(h)
	}
	body := strings.NewReader("")
	w := &sink{http.Header{}}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r := httptest.NewRequest("POST", "/orders", nil)
		body.Reset(`{"customer":"c-18273","currency":"EUR","amount":1999,"items":[{"sku":"A-1","quantity":2}]}`)
		r.Body, r.ContentLength = io.NopCloser(body), int64(body.Len())
		r.Header["Content-Type"] = []string{"application/json"}
		r.Header["Authorization"] = []string{"Bearer 0123456789abcdef0123456789abcdef"}
		r.Header["Idempotency-Key"] = []string{key(n)}
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

// BenchmarkHandler is the handler without a guard: what is to be subtracted from the other two.
func BenchmarkHandler(b *testing.B) { benchmark(b, strconv.Itoa, false) }
func BenchmarkFresh(b *testing.B)   { benchmark(b, strconv.Itoa, true) }
func BenchmarkReplay(b *testing.B)  { benchmark(b, func(int) string { return "k" }, true) }
