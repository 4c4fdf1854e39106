package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// The server is away under a running proxy: requests with a key are refused and nothing is sent. When it is
// back everything goes on, without anybody touching the proxy.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	at := newSiteIn(t, server, server.Database(t))
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	p := at.startProxy(t, nil, "--upstream", up.URL, "--principal", "authorization", "--admin-listen", "127.0.0.1:0")
	for i, leave := range []func(){server.Stop, server.Kill} {
		keys := []string{"before " + string(rune('a'+i)), "meanwhile " + string(rune('a'+i))}
		if g := p.post("/orders", quote(keys[0]), "book"); g.status != 200 || g.replayed {
			t.Fatalf("before: %+v", g)
		}
		sent := up.requests.Load()
		leave()
		for _, key := range keys {
			if g := p.post("/orders", quote(key), "book"); g.status != 503 || g.problem() != httpguard.ProblemStoreUnavailable || g.retryAfter == "" {
				t.Errorf("%s, while it is away: %+v", key, g)
			}
		}
		if n := up.requests.Load(); n != sent {
			t.Errorf("the upstream got %d requests while nothing could be recorded", n-sent)
		}
		if g := p.post("/orders", "", "book"); g.status != 200 {
			t.Errorf("without a key: %+v", g)
		}
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/readyz?store=required": 503} {
			if g := p.adminGet(path); g.status != want {
				t.Errorf("%s: %+v", path, g)
			}
		}
		server.Restart()
		eventually(t, "the proxy has found the server again", func() bool { return p.adminGet("/readyz?store=required").status == 200 })
		if g := p.post("/orders", quote(keys[0]), "book"); !g.replayed {
			t.Errorf("answered before: %+v", g)
		}
		if g := p.post("/orders", quote(keys[1]), "book"); g.status != 200 || g.replayed {
			t.Errorf("refused before: %+v", g)
		}
	}
	if out := p.printed(); strings.Contains(out, password) || strings.Contains(out, "panic") {
		t.Errorf("printed:\n%s", out)
	}
}

func quote(key string) string { return `"` + key + `"` }

// The server is killed while the upstream works. The caller gets the answer, marked; it is recorded once the
// server is back, and then replayed.
func TestServerIsKilledMeanwhile(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{})
	at := newSiteIn(t, server, server.Database(t))
	up, arrived, answer := held(t)
	p := at.startProxy(t, nil, "--upstream", up.URL, "--principal", "authorization")
	first := make(chan got)
	go func() { first <- p.post("/orders", "one", "book") }()
	<-arrived
	server.Kill()
	answer()
	if g := <-first; g.status != 200 || g.body != "made" || g.recorded {
		t.Errorf("the first: %+v", g)
	}
	if g := p.post("/orders", "one", "book"); g.status != 503 {
		t.Errorf("again, while it is away: %+v", g)
	}
	server.Restart()
	eventually(t, "the answer is recorded", func() bool { return p.post("/orders", "one", "book").replayed })
	if n := up.requests.Load(); n != 1 {
		t.Errorf("the upstream got %d requests, want 1", n)
	}
}

// A server that becomes a standby still replays, and refuses what it would have to write. When it is
// promoted everything goes on.
func TestServerBecomesAStandby(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	at := newSiteIn(t, server, server.Database(t))
	up := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	p := at.startProxy(t, nil, args...)
	p.post("/orders", "before", "book")

	server.Exec("postgres", "COPY (SELECT '') TO PROGRAM 'cat > standby.signal'")
	server.Restart()
	eventually(t, "the standby replays", func() bool { return p.post("/orders", "before", "book").replayed })
	if g := p.post("/orders", "meanwhile", "book"); g.status != 503 || g.problem() != httpguard.ProblemStoreUnavailable || g.retryAfter == "" {
		t.Errorf("a new key: %+v", g)
	}
	eventually(t, "the log says why", func() bool { return strings.Contains(p.printed(), "this server is a standby or read-only") })
	at.refused(t, "name the primary, or add target_session_attrs=read-write", proxyLine...)
	if out := at.must(t, "ops", "list"); !strings.Contains(out, "completed") {
		t.Errorf("listed:\n%s", out)
	}
	at.refused(t, "name the primary", "ops", "purge")

	server.Exec("postgres", "SELECT pg_promote()")
	if g := p.post("/orders", "meanwhile", "book"); g.status != 200 || g.replayed {
		t.Errorf("after the promotion: %+v", g)
	}
	if n := up.requests.Load(); n != 2 {
		t.Errorf("the upstream got %d requests, want 2", n)
	}
}

// Somebody empties the database under running processes, and a deployment makes the schema anew. It is not
// taken for a new store.
func TestDatabaseIsEmptiedInUse(t *testing.T) {
	t.Parallel()
	server := servicetest.Postgres(t)
	at := newServerSite(t, server.Database(t))
	at.must(t, "store", "init", "--new")
	up := newUpstream(t, nil)
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	p := at.startProxy(t, nil, args...)
	p.post("/orders", "one", "book")
	execute(t, at.dsn, "DROP SCHEMA reprise CASCADE")
	if g := p.post("/orders", "one", "book"); g.status != 503 || g.problem() != httpguard.ProblemStoreUnavailable {
		t.Errorf("without tables: %+v", g)
	}
	at.must(t, "migrate", "up")
	p.signal(syscall.SIGHUP)
	if line := p.await("not reloaded"); !strings.Contains(line.Error, "store has lost its data") {
		t.Errorf("a reload: %+v", line)
	}
	at.refused(t, "restore it from a backup", append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	at.must(t, "store", "init", "--new")
	eventually(t, "what was declared new is used", func() bool { return p.post("/orders", "two", "book").status == 200 })
	if proving() { // half a minute
		execute(t, at.dsn, "DELETE FROM reprise.reprise_secret")
		eventually(t, "the process notices by itself", func() bool { return p.post("/orders", "two", "book").problem() == httpguard.ProblemStoreLost })
		at.refused(t, "drop the schema", "store", "init", "--new")
	}
}
