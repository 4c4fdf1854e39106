package httpguard_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/reprisetest"
)

// A body that was read in front of the guard cannot be compared: two payments under one key would be one and the same. The handler would
// not notice, where it finds them in the form that was parsed.
func TestBodyThatWasReadInFront(t *testing.T) {
	t.Parallel()
	parse := func(r *http.Request) { _ = r.ParseForm() }
	for name, c := range map[string]struct {
		before func(*http.Request)
		length int64 // -1 is of a chunked body
		want   int
	}{
		"as a form":           {parse, 0, 500},
		"as a form, chunked":  {parse, -1, 500},
		"as text":             {func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, 0, 500},
		"and put back":        {func(r *http.Request) { b, _ := io.ReadAll(r.Body); r.Body = io.NopCloser(bytes.NewReader(b)) }, 0, 200},
		"as a form, put back": {func(r *http.Request) { parse(r); r.Body = io.NopCloser(strings.NewReader(r.PostForm.Encode())) }, -1, 200},
		"not at all":          {func(*http.Request) {}, -1, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bench := reprisetest.New(t, reprise.Policy{})
			m, err := httpguard.New(bench.Guard, httpguard.Options{Principal: httpguard.None()})
			if err != nil {
				t.Fatal(err)
			}
			guarded := m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { parse(r) }))
			pay := func(amount string) int {
				r := httptest.NewRequest("POST", "/payments", strings.NewReader("amount="+amount))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Idempotency-Key", "k1")
				if c.length != 0 {
					r.ContentLength = c.length
				}
				c.before(r)
				w := httptest.NewRecorder()
				guarded.ServeHTTP(w, r)
				return w.Code
			}
			other := 422
			if c.want != 200 {
				other = c.want
			}
			if first, second := pay("10"), pay("1000"); first != c.want || second != other {
				t.Errorf("%d, and another payment under the same key %d", first, second)
			}
		})
	}
}
