package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/reprise-dev/reprise/restore"
)

// serving is a `reprise serve` in a process of its own.
type serving struct {
	*proxyProcess
	host, origin string // of the next request; empty is as usual
}

func (s *restoreSite) serve(environ ...string) *serving {
	s.t.Helper()
	environ = append(environ, "REPRISE_METER_REDIS="+s.redis, "REPRISE_METER_LEDGER="+s.dsn, "REPRISE_METER_TAKE_OVER=1s")
	return &serving{proxyProcess: startServing(s.t, s.t.TempDir(), environ, "serve", "--listen", "127.0.0.1:0")}
}

// ask wants an answer with a status, that contains a text.
func (p *serving) ask(method, path, body string, status int, contains string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Host = p.host
	if p.origin != "" {
		request.Header.Set("Origin", p.origin)
	}
	if answer := fetch(http.DefaultClient, request); answer.err != nil || answer.status != status || !strings.Contains(answer.body, contains) {
		p.t.Errorf("%s %s %s: %d %s, %v; want %d with %q", method, path, body, answer.status, answer.body, answer.err, status, contains)
	}
}

// becomes waits until a restore says something of itself.
func (p *serving) becomes(path, says string) {
	p.t.Helper()
	eventually(p.t, path+" says "+says, func() bool {
		request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.address+path, nil)
		return err == nil && strings.Contains(fetch(http.DefaultClient, request).body, says)
	})
}

const byAnn = "?who=ann&why=a+test"

// A restore from its beginning to its end over HTTP, as a program does it that watches over Redis.
func TestServe(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 50)
	s.server.FlushAll()
	p := s.serve()
	begin := `{"who":"ann","why":"Redis was emptied"}`

	p.host = "evil.example"
	p.ask("POST", "/v1/restores", begin, 403, "urn:reprise:problem:other-host")
	p.host, p.origin = "", "https://evil.example"
	p.ask("POST", "/v1/restores", begin, 403, "cross-origin")
	p.origin = ""
	for body, says := range map[string]string{
		`{"who":"ann"`: "not a restore", `[]`: "not a restore", `{"whose":1}`: "unknown field", `{"who":"ann"}`: "say who wants it",
		begin + begin: "something else", `{"who":"ann","why":"x","plan":"other"}`: "no such plan", `{"who":"ann","why":"x","rate":-1}`: "0 or more",
	} {
		p.ask("POST", "/v1/restores", body, 400, says)
	}
	for _, path := range []string{"/v1/restores/1", "/v1/restores/1/findings", "/v1/restores/x", "/v1/restores/9223372036854775808", "/"} {
		p.ask("GET", path, "", 404, "not-found")
	}
	for _, verb := range []string{":pause", ":resume", ":pace", ":cancel", ":undo", ""} {
		p.ask("POST", "/v1/restores/1"+verb+byAnn+"&rate=1", "", 404, "not-found")
	}

	const first = "/v1/restores/1"
	p.ask("POST", "/v1/restores", begin, 202, `"id":1`)
	p.ask("POST", first+":pause"+byAnn, "", 204, "")
	p.ask("GET", first, "", 200, `"paused":true`)
	p.ask("POST", first+":pace"+byAnn+"&rate=1000&batch=3", "", 204, "")
	p.ask("GET", first, "", 200, `"rate":1000`)
	p.ask("POST", first+":pace"+byAnn, "", 400, "rate=NUMBER")
	p.ask("POST", first+":resume"+byAnn, "", 204, "")
	p.becomes(first, `"state":"done"`)
	p.ask("GET", first+"/findings", "", 200, "")
	for _, verb := range []string{":pause", ":resume", ":pace", ":cancel"} {
		p.ask("POST", first+verb+byAnn+"&rate=1", "", 409, "restore-over")
	}
	p.ask("POST", "/v1/restores", begin, 409, "restore-complete")
	s.call(0, "verify").has("all equal")

	p.ask("POST", "/v1/restores", `{"who":"ann","why":"a test","again":true}`, 202, `"id":2`)
	p.ask("POST", "/v1/restores/2:cancel"+byAnn, "", 204, "")
	p.ask("GET", "/v1/restores/2", "", 200, `"state":"cancelled"`)
	p.ask("POST", "/v1/restores", begin, 202, `"id":3`)
	p.becomes("/v1/restores/3", `"state":"done"`)
	s.call(0, "assess").has("intact")
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.printed())
	}
}

// A request that has not ended keeps a process that is to stop for as long as drain-timeout says, and no longer; a restore that it works on
// is given back.
func TestServeStopsWhileARequestIsOpen(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 10)
	s.server.FlushAll()
	p := s.serve("REPRISE_METER_DRAIN_TIMEOUT=100ms")
	p.ask("POST", "/v1/restores", `{"who":"ann","why":"a test"}`, 202, `"id":1`)
	p.ask("POST", "/v1/restores/1:pause"+byAnn, "", 204, "")
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/restores HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.printed())
	}
	if _, err := io.ReadAll(conn); err != nil {
		t.Logf("the connection was cut off: %v", err)
	}
	sessions, err := restore.Open(t.Context(), s.dsn, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer sessions.Close()
	if v, err := sessions.Last(t.Context(), planName); err != nil || v.Led || v.State.Over() {
		t.Errorf("after the process has stopped: %+v, %v", v, err)
	}
}

// Whoever can reach it may restore: it does not listen where others can.
func TestServeListensOnThisMachineAlone(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 1)
	environ := []string{"REPRISE_METER_REDIS=" + s.redis, "REPRISE_METER_LEDGER=" + s.dsn}
	for listen, want := range map[string]int{"0.0.0.0:0": exitUsage, "[::]:0": exitUsage, "127.0.0.1:99999": exitFailed} {
		if code, text := refusal(t, environ, "serve", "--listen", listen); code != want || !strings.Contains(text, "listen") {
			t.Errorf("%s: exit code %d, want %d\n%s", listen, code, want, text)
		}
	}
}
