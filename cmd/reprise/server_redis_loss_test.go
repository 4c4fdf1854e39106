package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// accepted accepts what a store has lost, and returns what was said of it.
func (s *site) accepted(t *testing.T) called {
	t.Helper()
	c := s.call(t, "store", "init", "--accept-loss", "--who", "ann", "--why", "nothing was under way")
	if c.code != exitDone {
		t.Fatalf("--accept-loss: %+v", c)
	}
	return c
}

// counting is an upstream that counts how often it got which body.
type counting struct {
	*upstream
	mu   sync.Mutex
	runs map[string]int
}

func newCounting(t *testing.T) *counting {
	c := &counting{runs: map[string]int{}}
	c.upstream = newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.runs[string(body)]++
		fmt.Fprintf(w, "made %s", body)
	})
	return c
}

func (c *counting) of(body string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs[body]
}

// once fails where something ran more than once.
func (c *counting) once(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for body, n := range c.runs {
		if n != 1 {
			t.Errorf("%s ran %d times", body, n)
		}
	}
}

// callers send keys of their own, one after the other, until they are stopped. They note which were answered.
type callers struct {
	stop     chan struct{}
	group    sync.WaitGroup
	mu       sync.Mutex
	answered []string
	begun    chan struct{} // closed when some are answered
}

func newCallers(t *testing.T, p *proxyProcess) *callers {
	c := &callers{stop: make(chan struct{}), begun: make(chan struct{})}
	for caller := range 8 {
		c.group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-c.stop:
					return
				default:
				}
				key := fmt.Sprintf("%d of caller %d", i, caller)
				g := p.post("/orders", quote(key), key)
				switch {
				case g.status == http.StatusOK && g.body == "made "+key:
					c.note(key)
				case g.problem() != httpguard.ProblemStoreLost:
					t.Errorf("%s: %+v", key, g)
				}
			}
		})
	}
	return c
}

func (c *callers) note(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered = append(c.answered, key); len(c.answered) == 100 {
		close(c.begun)
	}
}

func (c *callers) end() []string {
	close(c.stop)
	c.group.Wait()
	return c.answered
}

// Redis is emptied under load. From then on nothing with a key runs, whatever is deployed or restarted, until an
// operator accepts the loss.
func TestRedisIsEmptiedUnderLoad(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	at := newRedisSiteIn(t, server.DSN(0))
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization", "--admin-listen", "127.0.0.1:0"}
	p := at.startProxy(t, nil, args...)
	load := newCallers(t, p)
	<-load.begun
	server.FlushAll()
	if g := p.post("/orders", "later", "later"); g.status != 503 || g.problem() != httpguard.ProblemStoreLost || g.retryAfter == "" {
		t.Errorf("right after: %+v", g)
	}
	answered := load.end()
	refused := func(when string) {
		t.Helper()
		for _, key := range answered[:100] {
			if g := p.post("/orders", quote(key), key); g.status != 503 || g.problem() != httpguard.ProblemStoreLost {
				t.Errorf("%s, %s: %+v", when, key, g)
			}
		}
		if size := server.Do("DBSIZE"); size != int64(0) {
			t.Errorf("%s: %v keys were written", when, size)
		}
	}
	refused("emptied")
	at.neverNew(t)
	restart := append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)
	for _, hint := range []string{"reprise store init --new --store redis://app@", "reprise store init --accept-loss --who NAME --why REASON --store redis://app@"} {
		at.refused(t, hint, restart...)
	}
	at.refused(t, "store init", "ops", "list")
	refused("after a deployment")
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/readyz?store=required": 503} {
		if g := p.adminGet(path); g.status != want {
			t.Errorf("%s: %+v", path, g)
		}
	}
	p.tellsOfALoss(200) // a hundred keys were asked for twice
	up.once(t)

	c := at.accepted(t)
	for _, want := range []string{"all 1024 buckets were lost", "its secret was lost"} {
		if !strings.Contains(c.out, want) {
			t.Errorf("%q is not in:\n%s", want, c.out)
		}
	}
	if !strings.Contains(c.err, `"who":"ann","why":"nothing was under way"`) {
		t.Errorf("logged: %s", c.err)
	}
	eventually(t, "the process goes on by itself", func() bool { return p.post("/orders", "after", "after").status == 200 })
	at.startProxy(t, nil, args...)
	if g := p.post("/orders", "after", "after"); !g.replayed || up.of("after") != 1 {
		t.Errorf("afterwards: %+v, ran %d times", g, up.of("after"))
	}
	if out := p.printed() + c.out + c.err; strings.Contains(out, passwordOf(t, at.dsn)) {
		t.Errorf("printed the password:\n%s", out)
	}
}

// neverNew deploys, which makes no store.
func (s *site) neverNew(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "status"}, {"migrate", "print"}} {
		if c := s.call(t, args...); c.code != exitUsage || !strings.Contains(c.err, "Redis has no schema") {
			t.Errorf("%v: %+v", args, c)
		}
	}
}

// A Redis that was restarted may have lost the last second, and its keys do not show it. Proxies stop, also those that
// start, until somebody accepts it; what is there is then replayed.
func TestRedisIsRestarted(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	at := newRedisSiteIn(t, server.DSN(0))
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	p := at.startProxy(t, nil, args...)
	p.post("/orders", "before", "before")
	server.Kill()
	if g := p.post("/orders", "before", "before"); g.status != 503 || g.problem() != httpguard.ProblemStoreUnavailable {
		t.Errorf("while it is away: %+v", g)
	}
	server.Restart()
	eventually(t, "the proxy notices", func() bool { return p.post("/orders", "before", "before").problem() == httpguard.ProblemStoreLost })
	at.refused(t, "--accept-loss --who NAME --why REASON --store redis://app@", append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	at.refused(t, "--accept-loss", "store", "init", "--new")
	at.neverNew(t)
	if c := at.accepted(t); !strings.Contains(c.out, "no bucket was lost") || strings.Contains(c.out, "secret") {
		t.Errorf("accepted: %s", c.out)
	}
	eventually(t, "the process goes on by itself", func() bool { return p.post("/orders", "before", "before").replayed })
	if n := up.of("before"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// The bucket that the secrets are in is lost, and the others are not. The store is told all versions again, also one that is no
// longer primary: what was recorded under it is found.
func TestRedisLosesItsSecrets(t *testing.T) {
	t.Parallel()
	server := servicetest.Redis(t)
	at := newServerSite(t, server.Database(t))
	line := func(version byte) string {
		return fmt.Sprintf("%d %s", version, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{version}, 32)))
	}
	writeFile(t, at.secret, line(1)) // not random: the record is never in the bucket that is lost
	at.must(t, "store", "init", "--new")
	up := newCounting(t)
	args := []string{"--upstream", up.URL, "--principal", "authorization"}
	p := at.startProxy(t, nil, args...)
	p.post("/orders", "one", "one")
	p.kill()

	redis, err := server.Dial(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := redis.Do("DEL", "reprise:{0000}:secrets", "reprise:{0000}:generation", "reprise:{0000}:identities"); n != int64(3) || err != nil {
		t.Fatalf("deleted %v, %v", n, err)
	}
	at.refused(t, "--accept-loss", append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	without := *at
	without.environ = without.environ[:1]
	if c := without.call(t, "store", "init", "--accept-loss", "--who", "ann", "--why", "seen"); c.code != exitFailed || !strings.Contains(c.err, "--secret-file") {
		t.Errorf("without a secret: %+v", c)
	}
	at.refused(t, "--accept-loss", append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...)
	writeFile(t, at.secret, line(1)+"\n"+line(2)+" primary-from=2026-01-01T00:00:00Z\n")
	if c := at.accepted(t); !strings.Contains(c.out, "its secret was lost") {
		t.Errorf("accepted: %s", c.out)
	}
	again := at.startProxy(t, nil, args...)
	if g := again.post("/orders", "one", "one"); !g.replayed || up.of("one") != 1 {
		t.Errorf("recorded under the old version: %+v, ran %d times", g, up.of("one"))
	}
	if g := again.post("/orders", "two", "two"); g.status != 200 {
		t.Errorf("under the new one: %+v", g)
	}
}

// Whoever accepts a loss with another secret than that of the store has the wrong store, or the wrong file. Nothing is
// accepted. The store's own secret, with a version more than it has heard of, is right.
func TestLossIsAcceptedWithTheSecretOfTheStore(t *testing.T) {
	t.Parallel()
	server := servicetest.Redis(t)
	at := newServerSite(t, server.Database(t))
	at.must(t, "store", "init", "--new")
	redis, err := server.Dial(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := redis.Do("DEL", "reprise:{0007}:generation"); n != int64(1) || err != nil {
		t.Fatalf("deleted %v, %v", n, err)
	}
	acts := func() any {
		n, err := redis.Do("LLEN", "reprise:{0000}:acts")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	own := readFile(t, at.secret)
	another := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 32))
	writeFile(t, at.secret, "1 "+another+"\n")
	accept := []string{"store", "init", "--accept-loss", "--who", "ann", "--why", "seen"}
	at.refused(t, "nothing was accepted: reprise: secret does not fit the store", accept...)
	if n := acts(); n != int64(1) {
		t.Errorf("%v acts are kept, want that of the making", n)
	}
	writeFile(t, at.secret, own+"2 "+another+" primary-from=2100-01-01T00:00:00Z\n")
	if c := at.accepted(t); !strings.Contains(c.out, "1 of 1024 buckets were lost") {
		t.Errorf("accepted: %s", c.out)
	}
	if n, err := redis.Do("HLEN", "reprise:{0000}:secrets"); n != int64(1) || err != nil {
		t.Errorf("%v versions are kept, %v: accepting a loss announces none", n, err)
	}
}

// A store that was made and not told its secret is no store yet, and whoever makes it again is told how to go on.
func TestRedisIsNotToldItsSecret(t *testing.T) {
	t.Parallel()
	server := servicetest.Redis(t)
	at := newServerSite(t, server.Database(t))
	at.must(t, "store", "init", "--new")
	redis, err := server.Dial(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := redis.Do("DEL", "reprise:{0000}:secrets"); n != int64(1) || err != nil {
		t.Fatalf("deleted %v, %v", n, err)
	}
	at.refused(t, "Tell it with: reprise store init --accept-loss --who NAME --why REASON --store redis://app@", "store", "init", "--new")
	at.accepted(t)
	at.refused(t, "this store is not new", "store", "init", "--new")
}

// What is said about a loss has to make sense, and only Redis has one.
func TestAcceptLossRefused(t *testing.T) {
	t.Parallel()
	at := newRedisSite(t)
	by := []string{"--who", "ann", "--why", "seen"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--accept-loss", "--new"}, "exclude each other"},
		{[]string{"--accept-loss"}, "needs --who and --why"},
		{[]string{"--accept-loss", "--who", "ann"}, "needs --who and --why"},
		{[]string{"--accept-loss", "--who", " ", "--why", "seen"}, "needs --who and --why"},
		{append([]string{"--new"}, by...), "belong to --accept-loss"},
		{append([]string{"--accept-loss", "--store", "sqlite:r.db"}, by...), "is for Redis"},
		{append([]string{"--accept-loss", "--store", "postgres://u@h/d"}, by...), "is for Redis"},
		{append([]string{"--accept-loss", "--store", "memory:"}, by...), "is for Redis"},
	} {
		if got := at.call(t, append([]string{"store", "init"}, c.args...)...); got.code != exitUsage || !strings.Contains(got.err, c.says) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
	at.refused(t, "this store is not new", "store", "init", "--new")
}
