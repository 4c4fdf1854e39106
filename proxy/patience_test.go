package proxy

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store/memstore"
)

// impatient is a pause that is over when it begins.
const impatient = -time.Second

// The answer to a client that pauses within a body leaves, whether the body was read or not, and ends the connection: what is left
// of the body is not waited for.
func TestPausedBodyIsAnswered(t *testing.T) {
	t.Parallel()
	at := route(t, "/")
	guard, err := reprise.New(memstore.New(nil), at.Policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { guard.Close(t.Context()) })
	middleware, err := httpguard.New(guard, at.Options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(patient(impatient, middleware.Wrap(http.NotFoundHandler())))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct{ key, length, want string }{
		"read":             {`"k1"`, "Content-Length: 10", httpguard.ProblemBodyIncomplete},
		"read in chunks":   {`"k1"`, "Transfer-Encoding: chunked", httpguard.ProblemBodyIncomplete},
		"refused unread":   {`""`, "Content-Length: 10", httpguard.ProblemKeyMalformed},
		"refused, chunked": {`""`, "Transfer-Encoding: chunked", httpguard.ProblemKeyMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_ = client.SetDeadline(time.Now().Add(time.Minute)) // it would be waited for without end
			fmt.Fprintf(client, "POST /orders HTTP/1.1\r\nHost: x\r\nIdempotency-Key: %s\r\n%s\r\n\r\n3\r\nabc\r\n", c.key, c.length)
			response, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if g := (got{response.StatusCode, response.Header, string(text), err}); g.status != http.StatusBadRequest || g.problem() != c.want || !response.Close {
				t.Errorf("got %+v, to be closed: %v", g, response.Close)
			}
		})
	}
}

// Bodies that are passed on have no limit, whatever their route's guard would have had.
func TestPassedOnBodyMayPause(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	u := newUpstream(Settings{Upstream: up, Log: slog.New(slog.DiscardHandler)}, func(bool, error) {})
	t.Cleanup(u.close)
	server := httptest.NewServer(patient(impatient, u.plain()))
	t.Cleanup(server.Close)
	const size = 1 << 20 // more than is read with the header
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		f := front{server: server}
		if g := f.send(f.request(t, method, "/orders", "", strings.Repeat("x", size))); g.body != fmt.Sprint(size, nil) {
			t.Errorf("%s: %+v", method, g)
		}
	}
}

// Before each piece of a body there is a new deadline, and after the last none.
func TestPausedBody(t *testing.T) {
	t.Parallel()
	var deadlines []time.Time
	pieces := iotest.DataErrReader(iotest.OneByteReader(strings.NewReader("abc")))
	body := &pausedBody{ReadCloser: io.NopCloser(pieces), pause: bodyPause, deadline: func(at time.Time) error {
		deadlines = append(deadlines, at)
		return nil
	}}
	before := time.Now()
	if text, err := io.ReadAll(body); err != nil || string(text) != "abc" {
		t.Fatalf("got %q, %v", text, err)
	}
	if len(deadlines) != 4 || !deadlines[3].IsZero() {
		t.Fatalf("deadlines %v, want three and then none", deadlines)
	}
	for _, at := range deadlines[:3] {
		if at.Sub(before) < bodyPause {
			t.Errorf("a deadline is less than %v ahead", bodyPause)
		}
	}
}
