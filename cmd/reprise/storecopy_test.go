package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store/movestore"
)

// moving is a store that moves to another one, and the proxies that serve meanwhile.
type moving struct {
	t        *testing.T
	kinds    [2]string // of the two stores
	from, to *site     // under one secret
	upstream *moody
}

// newStores returns DSNs of nothing yet, by the kind of store.
func newStores() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "moving.db") },
		"PostgreSQL": func(t *testing.T) string { return servicetest.Postgres(t).Database(t) },
		"MariaDB":    func(t *testing.T) string { return servicetest.MariaDB(t).Database(t) },
		"Redis":      func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
	}
}

// newStoreUnder makes a store under a secret.
func newStoreUnder(t *testing.T, dsn, secret string) *site {
	t.Helper()
	s := &site{dir: t.TempDir(), secret: secret, dsn: dsn}
	s.environ = []string{"REPRISE_STORE=" + dsn, "REPRISE_SECRET_FILE=" + secret}
	s.must(t, "store", "init", "--new")
	return s
}

func newMoving(t *testing.T, from, to string) *moving {
	t.Helper()
	secret := newServerSite(t, "redis://nowhere").secret
	return &moving{
		t: t, upstream: newMoody(t), kinds: [2]string{from, to},
		from: newStoreUnder(t, newStores()[from](t), secret), to: newStoreUnder(t, newStores()[to](t), secret),
	}
}

// onMoves runs a test on moves from and to each kind of store.
func onMoves(t *testing.T, test func(m *moving)) {
	t.Helper()
	for from, to := range map[string]string{"SQLite": "PostgreSQL", "PostgreSQL": "Redis", "Redis": "MariaDB"} {
		t.Run(from+" to "+to, func(t *testing.T) {
			t.Parallel()
			test(newMoving(t, from, to))
		})
	}
}

// moody is an upstream that counts what took effect. What begins with "later" has none at first, and nobody is told what
// became of "lost".
type moody struct {
	*counting
	mu   sync.Mutex
	seen map[string]int
}

func newMoody(t *testing.T) *moody {
	m := &moody{counting: &counting{runs: map[string]int{}}, seen: map[string]int{}}
	m.upstream = newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key := string(body)
		m.mu.Lock()
		m.seen[key]++
		first := m.seen[key] == 1
		m.mu.Unlock()
		if first && strings.HasPrefix(key, "later") {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		m.counting.mu.Lock()
		m.runs[key]++
		m.counting.mu.Unlock()
		if strings.HasPrefix(key, "lost") {
			w.WriteHeader(http.StatusGatewayTimeout)
		}
		fmt.Fprintf(w, "made %s", key)
	})
	return m
}

// start starts a proxy on the two stores, or on one: then the other is nil.
func (m *moving) start(primary, previous *site) *proxyProcess {
	m.t.Helper()
	return startProxy(m.t, m.t.TempDir(), []string{"REPRISE_SECRET_FILE=" + m.to.secret}, m.serving(primary, previous)...)
}

// serving are the flags of a proxy on two stores, or on one.
func (m *moving) serving(primary, previous *site) []string {
	m.t.Helper()
	text := "store: " + primary.dsn + "\n"
	if previous != nil {
		text = fmt.Sprintf("store: {primary: %q, previous: %q}\n", primary.dsn, previous.dsn)
	}
	file := filepath.Join(m.t.TempDir(), "reprise.yaml")
	writeFile(m.t, file, text)
	return []string{"--config", file, "--upstream", m.upstream.URL, "--principal", "none"}
}

// copy copies, in this process.
func (m *moving) copy(args ...string) called {
	m.t.Helper()
	return copyOf(m.t, m.from, m.to, args...)
}

func copyOf(t *testing.T, from, to *site, args ...string) called {
	t.Helper()
	return callIn(t, []string{fromVariable + "=" + from.dsn, toVariable + "=" + to.dsn}, "", append([]string{"store", "copy"}, args...)...)
}

// opened opens both stores for the test.
func (m *moving) opened() (from, to *openedStore) {
	m.t.Helper()
	return m.from.open(m.t), m.to.open(m.t)
}

// open opens the store for the test.
func (s *site) open(t *testing.T) *openedStore {
	t.Helper()
	p, err := parsePlace(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := p.openStore(t.Context(), asItIs)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// announce says that new keys are made in the target from soon on. Nobody works with the source alone any more.
func (m *moving) announce() {
	m.t.Helper()
	from, to := m.opened()
	both, err := movestore.Open(m.t.Context(), to, from, movestore.Options{From: time.Now().Add(4 * time.Second), Ahead: time.Second})
	if err != nil {
		m.t.Fatal(err)
	}
	if err := both.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// retried sends every key again, to each proxy in turn, and wants what it got at first.
func (m *moving) retried(keys []string, proxies ...*proxyProcess) {
	m.t.Helper()
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < len(keys); i += 8 {
				g := proxies[i%len(proxies)].post("/orders", quote(keys[i]), keys[i])
				if g.status != http.StatusOK || !g.replayed || g.body != "made "+keys[i] {
					m.t.Errorf("%s again: %+v", keys[i], g)
				}
			}
		})
	}
	group.Wait()
}

// newLoad is callers that send each key to one proxy after the other, until they are stopped.
func newLoad(t *testing.T, name string, proxies ...*proxyProcess) *callers {
	c := &callers{stop: make(chan struct{}), begun: make(chan struct{})}
	for caller := range 4 {
		c.group.Go(func() {
			pace := time.NewTicker(100 * time.Millisecond) // they leave room for the copy
			defer pace.Stop()
			for i := 0; ; i++ {
				select {
				case <-c.stop:
					return
				case <-pace.C:
				}
				key := fmt.Sprintf("%s %d of caller %d", name, i, caller)
				for n, p := range proxies {
					g := p.post("/orders", quote(key), key)
					if g.status != http.StatusOK || g.body != "made "+key || g.replayed != (n > 0) {
						t.Errorf("%s, proxy %d: %+v", key, n, g)
						return
					}
				}
				c.note(key)
			}
		})
	}
	return c
}

// A store moves to another one while proxies serve: with the old one, with both, and at last with the new one
// alone. No answered key runs again, and none of which nobody knows.
func TestStoreMoves(t *testing.T) {
	t.Parallel()
	onMoves(t, func(m *moving) {
		m.run()
		m.upstream.once(m.t)
	})
}

func (m *moving) run() {
	t := m.t
	old := m.start(m.from, nil)
	load := newLoad(t, "first", old)
	<-load.begun
	for i := range 5 {
		later, lost := fmt.Sprintf("later %d", i), fmt.Sprintf("lost %d", i)
		if g := old.post("/orders", quote(later), later); g.status != http.StatusTooManyRequests {
			t.Errorf("%+v", g)
		}
		if g := old.post("/orders", quote(lost), lost); g.status != http.StatusGatewayTimeout {
			t.Errorf("%+v", g)
		}
	}
	if c := m.copy(); c.code != exitDone {
		t.Fatalf("while the source is in use: %+v", c)
	}
	answered := load.end()
	old.signal(syscall.SIGTERM)
	if code := old.exit(); code != exitDone {
		t.Fatalf("exit code %d: %s", code, old.printed())
	}

	m.announce()
	both := []*proxyProcess{m.start(m.to, m.from), m.start(m.to, m.from)}
	loads := []*callers{newLoad(t, "second", both...), newLoad(t, "third", both[1], both[0])}
	m.interrupted()
	m.retried(answered, both...)
	<-loads[0].begun
	eventuallyAsked(t, time.Second, "the copy is complete", func() bool {
		c := m.copy("--verify")
		if c.code != exitDone && !strings.Contains(c.err, "the copy is not complete") {
			t.Fatalf("with both: %+v", c)
		}
		return c.code == exitDone && strings.Contains(c.out, "complete:")
	})
	answered = append(answered, loads[0].end()...)
	m.refusals()

	alone := m.start(m.to, nil)
	m.retried(answered, both[0], alone, both[1])
	for i := range 5 {
		later, lost := fmt.Sprintf("later %d", i), fmt.Sprintf("lost %d", i)
		for try, p := range []*proxyProcess{both[i%2], alone, both[0]} {
			if g := p.post("/orders", quote(later), later); g.status != http.StatusOK || g.replayed != (try > 0) {
				t.Errorf("%s, try %d: %+v", later, try, g)
			}
			if g := p.post("/orders", quote(lost), lost); g.problem() != httpguard.ProblemOutcomeUnknown {
				t.Errorf("%s, try %d: %+v", lost, try, g)
			}
		}
	}
	answered = append(answered, loads[1].end()...)
	m.retried(answered, alone)
}
