package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/movestore"
)

// moving is a store that moves to another one, and the proxies that serve meanwhile.
type moving struct {
	t        *testing.T
	from, to *site // under one secret
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
		t: t, upstream: newMoody(t),
		from: newStoreUnder(t, newStores()[from](t), secret), to: newStoreUnder(t, newStores()[to](t), secret),
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
	text := "store: " + primary.dsn + "\n"
	if previous != nil {
		text = fmt.Sprintf("store: {primary: %q, previous: %q}\n", primary.dsn, previous.dsn)
	}
	file := filepath.Join(m.t.TempDir(), "reprise.yaml")
	writeFile(m.t, file, text)
	return startProxy(m.t, m.t.TempDir(), []string{"REPRISE_SECRET_FILE=" + m.to.secret},
		"--config", file, "--upstream", m.upstream.URL, "--principal", "none")
}

// copy copies, in this process.
func (m *moving) copy(args ...string) called {
	m.t.Helper()
	return callIn(m.t, []string{fromVariable + "=" + m.from.dsn, toVariable + "=" + m.to.dsn}, "", append([]string{"store", "copy"}, args...)...)
}

// opened opens both stores for the test.
func (m *moving) opened() (from, to *openedStore) {
	m.t.Helper()
	for s, of := range map[**openedStore]*site{&from: m.from, &to: m.to} {
		p, err := parsePlace(of.dsn)
		if err != nil {
			m.t.Fatal(err)
		}
		if *s, err = p.openStore(m.t.Context(), asItIs); err != nil {
			m.t.Fatal(err)
		}
	}
	return from, to
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

// interrupted copies until half of the records were looked at, and stops in the middle of whatever it does.
func (m *moving) interrupted() {
	m.t.Helper()
	from, to := m.opened()
	ctx, cancel := context.WithCancel(m.t.Context())
	_, err := movestore.Copy(ctx, from, to, movestore.CopyOptions{Progress: func(movestore.Copied) { cancel() }})
	if err != nil && !errors.Is(err, context.Canceled) {
		m.t.Fatal(err)
	}
	if err := errors.Join(from.Close(), to.Close()); err != nil {
		m.t.Error(err)
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
	for from, to := range map[string]string{"SQLite": "PostgreSQL", "PostgreSQL": "Redis", "Redis": "MariaDB"} {
		t.Run(from+" to "+to, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t, from, to)
			m.run()
			m.upstream.once(t)
		})
	}
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

// refusals are what must not be done with two stores of a move.
func (m *moving) refusals() {
	t := m.t
	backwards := callIn(t, []string{fromVariable + "=" + m.to.dsn, toVariable + "=" + m.from.dsn}, "", "store", "copy")
	if backwards.code != exitFailed || !strings.Contains(backwards.err, "wrong way round") {
		t.Errorf("backwards: %+v", backwards)
	}
	code, out := refusal(t, m.from.environ, "proxy", "--listen", "127.0.0.1:0", "--upstream", m.upstream.URL, "--principal", "none")
	if code != exitFailed || !strings.Contains(out, "the store is moved") {
		t.Errorf("with the old store alone: exit code %d, %s", code, out)
	}
}

// answered puts answered records into a store.
func (m *moving) answered(n int) {
	m.t.Helper()
	from, to := m.opened()
	importer, ok := store.As[store.Importer](from)
	if !ok {
		m.t.Fatal("the store does not import")
	}
	at := machine.InstantOf(time.Now())
	for done := 0; done < n; done += 1000 {
		var records []*machine.Record
		for i := done; i < done+1000; i++ {
			records = append(records, &machine.Record{
				Scope: machine.Scope{Operation: "POST /orders", SecretVersion: 1, Digest: sha256.Sum256(fmt.Append(nil, i))}, State: machine.Completed,
				Attempt: 1, Revision: 2, Claimed: at, LeaseEnd: at.Add(time.Minute), Started: at, Finished: at, WindowEnd: at.Add(time.Hour), RememberUntil: at.Add(24 * time.Hour),
				Response: machine.NewResponse("http/1", fmt.Appendf(nil, "answer %d", i)),
			})
		}
		if _, err := importer.Import(m.t.Context(), records); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := errors.Join(from.Close(), to.Close()); err != nil {
		m.t.Error(err)
	}
}

// A copy that is killed half-way is called again, and writes what is missing.
func TestStoreCopyIsKilled(t *testing.T) {
	t.Parallel()
	const records = 5_000
	m := newMoving(t, "SQLite", "PostgreSQL")
	m.start(m.from, nil).kill() // it tells a new file its secret
	m.answered(records)
	copier := exec.Command(os.Args[0], "store", "copy")
	copier.Env = programEnv(fromVariable+"="+m.from.dsn, toVariable+"="+m.to.dsn)
	if err := copier.Start(); err != nil {
		t.Fatal(err)
	}
	from, to := m.opened()
	lister, _ := store.As[store.Lister](to)
	eventually(t, "some records are there", func() bool {
		page, err := lister.List(t.Context(), store.Filter{}, "", 1000)
		return err == nil && len(page.Records) == 1000
	})
	_ = copier.Process.Kill() // it may be at its end already
	_ = copier.Wait()
	if err := errors.Join(from.Close(), to.Close()); err != nil {
		t.Error(err)
	}
	again := m.copy()
	if again.code != exitDone {
		t.Fatalf("%+v", again)
	}
	written, there := numberOf(t, again.out, "written"), numberOf(t, again.out, "already there")
	if all := numberOf(t, again.out, "records in the source"); written+there != all || there == 0 || all < records {
		t.Errorf("the second copy wrote %d, and %d were there, of %d:\n%s", written, there, all, again.out)
	}
	m.announce()
	eventually(t, "the copy is complete", func() bool { return m.copy("--verify").code == exitDone })
}

// numberOf returns a number of a table.
func numberOf(t *testing.T, table, name string) (n int) {
	t.Helper()
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %q in:\n%s", name, table)
	return 0
}
