package retryclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/retryclient"
)

// One logical call has one key, however often it is tried, and another call has another (case O36).
func TestOneKeyForAllTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []answer{breaks, says(503), breaks, says(201)}}
		client := retryclient.Client(server, retryclient.Options{})
		response, _, err := post(t, client, "coffee")
		if err != nil || response.StatusCode != http.StatusCreated {
			t.Fatalf("response %v, error %v", response, err)
		}
		if len(server.keys) != 4 || len(slices.Compact(slices.Clone(server.keys))) != 1 {
			t.Fatalf("keys of the tries: %q", server.keys)
		}
		first := strings.Trim(server.keys[0], `"`)
		if id, err := uuid.Parse(first); err != nil || id.Version() != 7 || server.keys[0] == first {
			t.Errorf("key %s is not a quoted UUID of version 7", server.keys[0])
		}
		if got := response.Request.Header.Get("Idempotency-Key"); got != server.keys[0] {
			t.Errorf("the response's request says key %s", got)
		}
		if _, _, err := post(t, client, "coffee"); err != nil || server.keys[4] == server.keys[0] {
			t.Errorf("the second call has key %s, error %v", server.keys[4], err)
		}
		if server.open != 0 {
			t.Errorf("%d response bodies were left open", server.open)
		}
	})
}

// A credential that changes between the tries of a base transport does not change the key (case O36).
func TestCredentialsAreNotInTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []answer{says(503), says(201)}}
		fresh, seen := 0, []string{}
		signing := roundTrip(func(req *http.Request) (*http.Response, error) {
			fresh++
			req = req.Clone(req.Context())
			req.Header.Set("Authorization", "Bearer "+strings.Repeat("x", fresh))
			seen = append(seen, req.Header.Get("Authorization"))
			return server.RoundTrip(req)
		})
		if _, _, err := post(t, retryclient.Client(signing, retryclient.Options{}), "coffee"); err != nil {
			t.Fatal(err)
		}
		if seen[0] == seen[1] || server.keys[0] != server.keys[1] {
			t.Errorf("credentials %q, keys %q", seen, server.keys)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestKeysOfTheCaller(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		context string
		header  []string
		options retryclient.Options
		want    string // as sent; empty when refused
	}{
		{name: "context", context: "order-1", want: `"order-1"`},
		{name: "context, raw", context: "order-1", options: retryclient.Options{RawKeys: true}, want: `order-1`},
		{name: "context, backslash", context: `a\b`, want: `"a\\b"`},
		{name: "header", header: []string{"order-2"}, want: "order-2"},
		{name: "header wins", context: "order-1", header: []string{`"order-2"`}, want: `"order-2"`},
		{name: "empty context", context: " "},
		{name: "comma", context: "a,b"},
		{name: "quote", context: `a"b`},
		{name: "control character", context: "a\nb"},
		{name: "256 characters", context: strings.Repeat("k", 256)},
		{name: "255 characters", context: strings.Repeat("k", 255), want: `"` + strings.Repeat("k", 255) + `"`},
		{name: "blank header", header: []string{"  "}},
		{name: "two headers", header: []string{"a", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if c.context != "" {
				ctx = retryclient.WithKey(ctx, c.context)
			}
			server := &script{answers: []answer{says(201)}}
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://orders.test/", nil)
			if c.header != nil {
				req.Header["Idempotency-Key"] = c.header
			}
			_, _, err := do(t, retryclient.Client(server, c.options), req)
			if c.want == "" {
				if !errors.Is(err, retryclient.ErrInvalid) || len(server.keys) != 0 {
					t.Errorf("error %v, sent %q", err, server.keys)
				}
				return
			}
			if err != nil || server.keys[0] != c.want {
				t.Errorf("sent %q, error %v; want %q", server.keys, err, c.want)
			}
		})
	}
}

// Methods that are not guarded pass through: no key, one try, the very request.
func TestOtherMethodsPassThrough(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		server := &script{answers: []answer{says(503)}}
		req, _ := http.NewRequestWithContext(t.Context(), method, "http://orders.test/", nil)
		response, _, err := do(t, retryclient.Client(server, retryclient.Options{}), req)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable || len(server.keys) != 1 || server.keys[0] != "" || response.Request != req {
			t.Errorf("%s: response %v, error %v, keys %q", method, response, err, server.keys)
		}
	}
}

// Every try has the same bytes, whether the body can be rewound or has to be held.
func TestSameBodyOnEveryTry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body io.Reader
	}{
		{"rewound", strings.NewReader("two coffees")},
		{"held", io.MultiReader(strings.NewReader("two "), strings.NewReader("coffees"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &script{answers: []answer{says(502), breaks, says(201)}}
				closed := &closing{Reader: c.body}
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders.test/", c.body)
				req.Body = closed
				if _, _, err := do(t, retryclient.Client(server, retryclient.Options{}), req); err != nil {
					t.Fatal(err)
				}
				if want := []string{"two coffees", "two coffees", "two coffees"}; !slices.Equal(server.bodies, want) {
					t.Errorf("bodies %q", server.bodies)
				}
				if !closed.closed {
					t.Error("the request's body was not closed")
				}
			})
		})
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// A body that could not be sent a second time is refused before it is sent a first time.
func TestBodyThatCannotBeRewound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		body   io.Reader
		length int64
	}{
		{"too long", io.MultiReader(bytes.NewReader(make([]byte, 101))), 0},
		{"broken", io.MultiReader(strings.NewReader("a"), brokenReader{}), 0},
		{"other length than said", io.MultiReader(strings.NewReader("abc")), 4},
	} {
		server := &script{answers: []answer{says(201)}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders.test/", c.body)
		req.ContentLength = c.length
		_, _, err := do(t, retryclient.Client(server, retryclient.Options{MaxBody: 100}), req)
		if !errors.Is(err, retryclient.ErrInvalid) || len(server.keys) != 0 {
			t.Errorf("%s: error %v, sent %d times", c.name, err, len(server.keys))
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// A body that cannot be rewound after all leaves what was sent before unknown.
func TestRewindFailsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []answer{breaks}}
		req, _ := http.NewRequestWithContext(retryclient.WithKey(t.Context(), "k"), http.MethodPost, "http://orders.test/", strings.NewReader("a"))
		rewound := false
		req.GetBody = func() (io.ReadCloser, error) {
			if rewound {
				return nil, errBroken
			}
			rewound = true
			return io.NopCloser(strings.NewReader("a")), nil
		}
		_, _, err := do(t, retryclient.Client(server, retryclient.Options{}), req)
		if !errors.Is(err, retryclient.ErrUnknown) || !errors.Is(err, retryclient.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	})
}

// A context that ends after something was sent leaves the call unknown, with the key to ask again.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  answer
		unknown bool
	}{
		{"while the server works", func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}, true},
		{"between two tries, sent", breaks, true},
		{"between two tries, in progress", objects(409, "in-progress", "Retry-After", "5"), true},
		{"between two tries, refused each time", says(429, "Retry-After", "5"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &script{answers: []answer{c.answer}}
				ctx, cancel := context.WithTimeout(retryclient.WithKey(t.Context(), "order-1"), time.Second)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://orders.test/", nil)
				options := retryclient.Options{FirstBackoff: time.Hour, MaxBackoff: time.Hour, MaxElapsed: 3 * time.Hour}
				_, _, err := do(t, retryclient.Client(server, options), req)
				var unknown *retryclient.UnknownError
				if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unknown) != c.unknown {
					t.Fatalf("error %v", err)
				}
				if c.unknown && (unknown.Key != "order-1" || unknown.Tries != 1) {
					t.Errorf("key %q, tries %d", unknown.Key, unknown.Tries)
				}
				if strings.Contains(err.Error(), "order-1") {
					t.Errorf("the message tells the key: %v", err)
				}
			})
		})
	}
}
