package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

func TestTwoProcessesOneFile(t *testing.T) {
	t.Parallel()
	at := newFileSite(t)
	all := duplicates(t, at, at) // both find nothing, and must end up with one database and one secret
	info, err := os.Stat(at.secret)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret: %v, %v; want mode 0600", info, err)
	}
	if strings.Count(all, "a new store") != 1 {
		t.Errorf("a new store is announced in words, once:\n%s", all)
	}
}

func TestTwoProcessesOneDatabase(t *testing.T) {
	t.Parallel()
	direct := newPostgresSite(t)
	pooled := *direct
	pooled.name(with(t, servicetest.PgBouncer(t, direct.dsn, servicetest.PoolTransaction), "pgbouncer", "1"))
	for name, sites := range map[string][2]*site{"direct": {direct, direct}, "PgBouncer": {&pooled, &pooled}, "both": {direct, &pooled}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if all := duplicates(t, sites[0], sites[1]); strings.Contains(all, password) {
				t.Errorf("printed the password:\n%s", all)
			}
		})
	}
}

// duplicates starts a process at each of two sites at once, and sends 200 copies of one request, half of
// them to each. It returns all that the processes have printed.
func duplicates(t *testing.T, sites ...*site) (printed string) {
	t.Helper()
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	var proxies [2]*proxyProcess
	var starting sync.WaitGroup
	for i := range proxies {
		starting.Go(func() {
			proxies[i] = sites[i].startProxy(t, []string{"REPRISE_DUPLICATES=wait 30s", "REPRISE_COMMAND_TIMEOUT=10s"}, "--upstream", up.URL, "--principal", "authorization")
		})
	}
	starting.Wait()
	key := t.Name()
	var callers sync.WaitGroup
	for i := range 200 {
		callers.Go(func() {
			if g := proxies[i%2].post("/orders", key, "book"); g.status != 200 || g.body != "made" {
				t.Errorf("got %+v", g)
			}
		})
	}
	callers.Wait()
	if n := up.requests.Load(); n != 1 {
		t.Errorf("the upstream got %d requests, want 1", n)
	}
	if printed = proxies[0].printed() + proxies[1].printed(); t.Failed() {
		t.Log(printed)
	}
	return printed
}

// The proxy is killed while the upstream works. Nobody knows what happened, and it is never sent again.
func TestKilled(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		up, arrived, _ := held(t)
		args := []string{"--upstream", up.URL, "--principal", "authorization"}
		short := []string{"REPRISE_LEASE=9s", "REPRISE_COMMAND_TIMEOUT=3s"}
		first := at.startProxy(t, short, args...)
		go first.post("/orders", "one", "book")
		<-arrived
		first.kill()

		again := at.startProxy(t, short, args...)
		if g := again.post("/orders", "one", "book"); g.problem() != httpguard.ProblemInProgress {
			t.Errorf("while the lease lasts: %+v", g)
		}
		patient := at.startProxy(t, append(short, "REPRISE_DUPLICATES=wait 60s"), args...)
		for _, p := range []*proxyProcess{patient, again} {
			if g := p.post("/orders", "one", "book"); g.status != 409 || g.problem() != httpguard.ProblemOutcomeUnknown {
				t.Errorf("after the lease: %+v", g)
			}
		}
		if n := up.requests.Load(); n != 1 {
			t.Errorf("the upstream got %d requests, want 1", n)
		}
	})
}

// SIGTERM lets what runs finish, and records it.
func TestDrain(t *testing.T) {
	t.Parallel()
	up, arrived, answer := held(t)
	dir := t.TempDir()
	args := []string{"--upstream", up.URL, "--principal", "authorization", "--admin-listen", "127.0.0.1:0"}
	p := startProxy(t, dir, nil, args...)
	if g := p.adminGet("/readyz"); g.status != 200 {
		t.Errorf("ready: %+v", g)
	}
	first := make(chan got)
	go func() { first <- p.post("/orders", "one", "book") }()
	<-arrived
	p.signal(syscall.SIGTERM)
	p.await("stopping")
	if g := p.adminGet("/readyz"); g.status != 503 {
		t.Errorf("ready while stopping: %+v", g)
	}
	answer()
	if g := <-first; g.status != 200 || g.body != "made" {
		t.Errorf("what ran: %+v", g)
	}
	if code := p.exit(); code != exitDone {
		t.Errorf("exit code %d; it printed:\n%s", code, p.printed())
	}
	if g := startProxy(t, dir, nil, args...).post("/orders", "one", "book"); !g.replayed || up.requests.Load() != 1 {
		t.Errorf("at the next process: %+v, and the upstream got %d requests", g, up.requests.Load())
	}
}

// A second signal does not wait: what runs is cut off and recorded as unknown.
func TestDrainCutShort(t *testing.T) {
	t.Parallel()
	up, arrived, _ := held(t)
	dir := t.TempDir()
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	p := startProxy(t, dir, nil, args...)
	first := make(chan got)
	go func() { first <- p.post("/orders", "one", "book") }()
	<-arrived
	p.signal(syscall.SIGTERM)
	p.await("stopping")
	p.signal(syscall.SIGTERM)
	if g := <-first; g.status != 504 {
		t.Errorf("what was cut off: %+v", g)
	}
	if code := p.exit(); code != exitFailed {
		t.Errorf("exit code %d, want to be told that something was cut off:\n%s", code, p.printed())
	}
	if g := startProxy(t, dir, nil, args...).post("/orders", "one", "book"); g.problem() != httpguard.ProblemOutcomeUnknown || up.requests.Load() != 1 {
		t.Errorf("at the next process: %+v, and the upstream got %d requests", g, up.requests.Load())
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	dir := t.TempDir()
	file := filepath.Join(dir, "reprise.yaml")
	configure := func(routes string) {
		writeFile(t, file, fmt.Sprintf("upstream: %s\ndefaults: {principal: authorization}\n%s", up.URL, routes))
	}
	configure("")
	p := startProxy(t, dir, nil, "--config", file)
	p.post("/orders", "before", "")

	configure("routes: [{path: /strict, key: required}]\n")
	p.signal(syscall.SIGHUP)
	p.await("reloaded")
	if g := p.post("/strict", "", ""); g.problem() != httpguard.ProblemKeyMissing {
		t.Errorf("the new route: %+v", g)
	}
	if g := p.post("/orders", "before", ""); !g.replayed {
		t.Errorf("a key of before: %+v", g)
	}

	for mistake, want := range map[string]string{
		"routes: [{path: /strict, lease: 1s}]\n":            "lease: 1s is below three times command-timeout",
		"listen: 127.0.0.1:1\nstore: 'sqlite:other.db'\n":   "needs a restart",
		"routes: [{path: /orders, operation: order}]\n":     "accept-scope-change",
		"upstream-tls: {ca: missing.pem}\nupstream: x://\n": "is not the URL",
	} {
		configure(mistake)
		p.signal(syscall.SIGHUP)
		if line := p.await("not reloaded"); !strings.Contains(line.Error, want) && want != "is not the URL" {
			t.Errorf("%s: got %q, want %q", mistake, line.Error, want)
		}
	}
	if g := p.post("/strict", "", ""); g.problem() != httpguard.ProblemKeyMissing {
		t.Errorf("after refusals everything is as before, and got %+v", g)
	}

	configure("routes: [{path: /orders, operation: order}]\n")
	p.signal(syscall.SIGHUP)
	_, mark, _ := strings.Cut(p.await("not reloaded").Error, "accept-scope-change: ")
	configure("routes: [{path: /orders, operation: order}]\naccept-scope-change: '" + mark + "'\n")
	p.signal(syscall.SIGHUP)
	p.await("reloaded")
	if g := p.post("/orders", "before", ""); g.replayed {
		t.Errorf("the change of scope was accepted, and got %+v", g)
	}
}

// Neither keys nor who sent them are in any file or in the log, also where the upstream echoes them.
func TestNothingInClear(t *testing.T) {
	t.Parallel()
	for principal, identity := range map[string]string{"authorization": "Authorization", "header:X-User": "X-User"} {
		for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
			t.Run(fmt.Sprint(principal, " ", status), func(t *testing.T) {
				t.Parallel()
				const key, caller = "very-secret-key", "sesame"
				up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
					for _, name := range []string{"Idempotency-Key", identity} {
						w.Header()[name] = r.Header[name]
					}
					w.WriteHeader(status)
				})
				dir := t.TempDir()
				p := startProxy(t, dir, nil, "--upstream", up.URL, "--principal", principal)
				send := func(key string) (got, http.Header) {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.address+"/orders", strings.NewReader("book"))
					if err != nil {
						t.Fatal(err)
					}
					r.GetBody = nil
					r.Header.Set("Idempotency-Key", key)
					r.Header.Set(identity, "Bearer "+caller)
					response, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					defer response.Body.Close()
					return got{status: response.StatusCode, replayed: response.Header.Get(httpguard.HeaderReplayed) == "true"}, response.Header
				}
				for i := range 2 {
					g, header := send(key)
					if first := i == 0; (first || status == 200) && (header.Get("Idempotency-Key") != key || header.Get(identity) != "Bearer "+caller) || g.replayed != (!first && status == 200) {
						t.Errorf("request %d: %+v %v", i+1, g, header)
					}
				}
				up.Close()
				send(key + "2")
				eventually(t, "the log names the record", func() bool { return strings.Contains(p.printed(), `"record":"`) })
				all := files(t, dir)
				all["log"] = p.printed()
				for name, text := range all {
					for _, secret := range []string{key, caller} {
						if strings.Contains(text, secret) {
							t.Errorf("%q is in %s", secret, name)
						}
					}
				}
			})
		}
	}
}

func TestHeaderBomb(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(http.ResponseWriter, *http.Request) {})
	p := startProxy(t, t.TempDir(), nil, "--upstream", up.URL, "--principal", "none", "--store", "memory:")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		r.Header.Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
	}
	if g := fetch(http.DefaultClient, r); g.status != http.StatusRequestHeaderFieldsTooLarge || up.requests.Load() != 0 {
		t.Errorf("got %+v", g)
	}
}

// A reload does not forget what a memory store holds.
func TestReloadMemory(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	p := startProxy(t, t.TempDir(), nil, "--upstream", up.URL, "--principal", "none", "--store", "memory:")
	p.post("/", "one", "")
	p.signal(syscall.SIGHUP)
	p.await("reloaded")
	if g := p.post("/", "one", ""); !g.replayed {
		t.Errorf("got %+v", g)
	}
}
