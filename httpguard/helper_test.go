package httpguard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
)

// record sends the usual request to a handler without a server.
func record(h http.Handler, key string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/orders", strings.NewReader("x"))
	r.Header.Set("Idempotency-Key", key)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// traceHints reports early hints as they arrive.
func traceHints(ctx context.Context, t *testing.T, hinted chan<- struct{}) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			if code != http.StatusEarlyHints || header.Get("Link") == "" {
				t.Errorf("informational answer %d %v", code, header)
			}
			hinted <- struct{}{}
			return nil
		},
	})
}
