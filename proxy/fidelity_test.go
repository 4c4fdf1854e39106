package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

// A route for one host has operations of its own: the same key for the same path of another host is another request.
func TestHostsShareNoKeys(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "made by "+r.Host) })
	f := newFront(t, memstore.New(nil), guarding(t, up, route(t, "a.example/orders"), route(t, "b.example/orders")))
	key := freshKey()
	for _, host := range []string{"a.example", "b.example", "a.example"} {
		r := f.request(t, http.MethodPost, "/orders", key, "x")
		r.Host = host
		if g := f.send(r); g.body != "made by "+host {
			t.Errorf("%s: %+v", host, g)
		}
	}
	if n := count.Load(); n != 2 {
		t.Errorf("the upstream got %d requests, want 2", n)
	}
}

// However a client spells the host, it is the host of the route: a retry that spells it otherwise is answered by the first.
func TestSpellingsOfAHost(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	for name, spellings := range map[string][]string{
		"a.example": {"a.example", "A.Example", "a.example:8080", "a.example.", "A.EXAMPLE.:80"},
		"B.Example": {"b.example", "B.Example"},
		"[::1]":     {"[::1]", "[::1]:8080"},
	} {
		f, key := newFront(t, memstore.New(nil), guarding(t, up, route(t, name+"/orders"))), freshKey()
		for i, host := range spellings {
			r := f.request(t, http.MethodPost, "/orders", key, "x")
			r.Host = host
			if g := f.send(r); g.body != "made" || g.replayed() != (i > 0) {
				t.Errorf("%s: %+v", host, g)
			}
		}
	}
	if n := count.Load(); n != 3 {
		t.Errorf("the upstream got %d requests, want 3", n)
	}
}

// No request would be of a route for a host with a port.
func TestHostWithAPort(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a.example:8080/orders", "[::1]:8080/"} {
		_, err := New(t.Context(), memstore.New(nil), guarding(t, &url.URL{Scheme: "http", Host: "upstream.invalid"}, route(t, path)), nil)
		if err == nil || !strings.Contains(err.Error(), "port") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A target without a path would be sent to the upstream as another one than was routed and compared: it is no request.
func TestTargetsWithoutAPath(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "made "+r.URL.Path) })
	required := route(t, "/orders")
	required.Options.Required = true
	f := newFront(t, memstore.New(nil), guarding(t, up, required, route(t, "/")))
	for _, target := range []string{"x:http://a/orders", "x:http://a/refunds", "x:orders"} {
		c, err := net.Dial("tcp", f.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nIdempotency-Key: k\r\n\r\n", target)
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if response.Body.Close(); response.StatusCode != http.StatusBadRequest || err != nil {
			t.Errorf("%s: %d %q %q %v", target, response.StatusCode, body, response.Header.Get(httpguard.HeaderReplayed), err)
		}
	}
	if n := count.Load(); n != 0 {
		t.Errorf("the upstream got %d requests, want none", n)
	}
}

// Of a request that has no effect it is not said that it may have had one.
func TestHarmlessRequestsWithoutAnswer(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	f := newFront(t, memstore.New(nil), guarding(t, &url.URL{Scheme: "http", Host: gone.Addr().String()}))
	if g := f.send(f.request(t, http.MethodGet, "/", "", "")); g.status != 502 || g.problem() != httpguard.ProblemUpstreamUnreachable {
		t.Errorf("nobody there: %+v", g)
	}
	silent := newRawServer(t, func(net.Conn, int, *http.Request) bool { return false })
	f = newFront(t, memstore.New(nil), guarding(t, silent.url()))
	if g := f.send(f.request(t, http.MethodOptions, "/", "", "")); g.status != 504 || g.problem() != httpguard.ProblemUpstreamNoAnswer {
		t.Errorf("no answer: %+v", g)
	}
}

// An upstream's answer is passed on as it is, first and replayed; one that is none is unknown.
func TestAnswersAsTheyAre(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/untyped": "HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\n<html>",
		"/hinted":  "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\n<html>",
		"/status":  "HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n",
		"/lines":   "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 3\r\n\r\n{}\n",
		"/short":   "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100\r\n\r\n{}\n",
		"/nested":  "HTTP/1.1 200 OK\r\nIdempotency-Replayed: true\r\nReprise-Recorded: false\r\nContent-Length: 0\r\n\r\n",
	}
	up := newRawServer(t, func(c net.Conn, _ int, r *http.Request) bool {
		io.WriteString(c, answers[r.URL.Path])
		return r.URL.Path != "/short"
	})
	f := newFront(t, memstore.New(nil), guarding(t, up.url()))
	for _, key := range []string{"", freshKey()} {
		for _, path := range []string{"/untyped", "/hinted"} {
			for try := range 2 {
				if g := f.post(t, path, key, ""); g.status != 201 || g.body != "<html>" || g.header["Content-Type"] != nil || g.replayed() != (key != "" && try == 1) {
					t.Errorf("%s without a type, key %q, try %d: %+v", path, key, try, g)
				}
			}
		}
	}
	if g := f.post(t, "/status", "", ""); g.status != 504 || g.problem() != httpguard.ProblemUpstreamNoAnswer {
		t.Errorf("a status that is none, unguarded: %+v", g)
	}
	for path, want := range map[string][2]string{
		"/status": {httpguard.ProblemUpstreamNoAnswer, httpguard.ProblemOutcomeUnknown},
		"/short":  {httpguard.ProblemUpstreamNoAnswer, httpguard.ProblemOutcomeUnknown},
		"/lines":  {},
	} {
		key := freshKey()
		for try := range 2 {
			if g := f.post(t, path, key, ""); g.problem() != want[try] || g.err != nil {
				t.Errorf("%s, try %d: %+v", path, try, g)
			}
		}
	}
	if g := f.post(t, "/nested", freshKey(), ""); g.replayed() || g.header.Get(httpguard.HeaderRecorded) != "" {
		t.Errorf("what another guard says of its own record is passed on: %+v", g)
	}
}

// Clients of HTTP/1.0 do not know informational answers.
func TestNothingInformationalForOldClients(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "made")
	})
	f := newFront(t, memstore.New(nil), guarding(t, up))
	for _, header := range []string{"", "Idempotency-Key: k\r\n"} {
		c, err := net.Dial("tcp", f.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.0\r\nContent-Length: 0\r\n%s\r\n", header)
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "HTTP/1.0 200 OK\r\n" {
			t.Errorf("%q, %v", line, err)
		}
	}
}

// Who lets a request pass because the store cannot be asked says so, also where nothing could be sent: of earlier tries nobody knows then.
func TestFailedOpenAndUnreachable(t *testing.T) {
	t.Parallel()
	nobody := newRawServer(t, nil)
	nobody.listener.Close()
	at := route(t, "/")
	at.Options.FailOpen = true
	s := faultstore.New(memstore.New(nil), faultstore.None)
	f := newFront(t, s, guarding(t, nobody.url(), at))
	s.SetPlan(faultstore.From(1, faultstore.Refused()))
	if g := f.post(t, "/orders", freshKey(), "x"); g.problem() != httpguard.ProblemUpstreamUnreachable || g.header.Get(httpguard.HeaderRecorded) != "false" {
		t.Errorf("got %+v", g)
	}
}
