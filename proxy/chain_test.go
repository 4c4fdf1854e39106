package proxy

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

// A guard in front of a guard: what the second refuses without having done anything is not the first one's last word on the key.
func TestGuardBehindGuard(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	up, count := serving(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		io.WriteString(w, "made")
	})
	inner := newFront(t, memstore.New(nil), guarding(t, up))
	to, err := url.Parse(inner.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	outer := newFront(t, memstore.New(nil), guarding(t, to))
	key, first := freshKey(), make(chan got)
	direct := inner.request(t, http.MethodPost, "/orders", key, "x")
	go func() { first <- inner.send(direct) }()
	<-arrived
	if g := outer.post(t, "/orders", key, "x"); g.status != http.StatusConflict || g.problem() != httpguard.ProblemInProgress || g.header["Reprise-No-Effect"] != nil {
		t.Errorf("while it runs: %+v", g)
	}
	close(release)
	if g := <-first; g.body != "made" {
		t.Errorf("at first: %+v", g)
	}
	for try := range 2 {
		if g := outer.post(t, "/orders", key, "x"); g.body != "made" || g.replayed() != (try > 0) {
			t.Errorf("afterwards, try %d: %+v", try, g)
		}
	}
	if n := count.Load(); n != 1 {
		t.Errorf("the service got %d requests, want 1", n)
	}
}

// What nobody knows behind is unknown in front too, and not an answer that is kept: each is settled by itself.
func TestUnknownBehindIsUnknownInFront(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	inner := newFront(t, memstore.New(nil), guarding(t, up))
	to, err := url.Parse(inner.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	outer, key := newFront(t, memstore.New(nil), guarding(t, to)), freshKey()
	if g := inner.post(t, "/orders", key, "x"); g.status != http.StatusGatewayTimeout {
		t.Errorf("the service hangs up: %+v", g)
	}
	for try := range 2 {
		if g := outer.post(t, "/orders", key, "x"); g.problem() != httpguard.ProblemOutcomeUnknown || g.replayed() {
			t.Errorf("try %d: %+v", try, g)
		}
	}
	if n := count.Load(); n != 1 {
		t.Errorf("the service got %d requests, want 1", n)
	}
}

// A proxy behind that had no answer from its upstream says to the one in front what that means for the key, whatever its status.
func TestNoAnswerBehindAProxy(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	silent := newRawServer(t, func(net.Conn, int, *http.Request) bool { return false })
	for name, c := range map[string]struct {
		upstream *url.URL
		status   int // of its problem
		problems []string
	}{
		"nobody there": {&url.URL{Scheme: "http", Host: gone.Addr().String()}, 502, []string{httpguard.ProblemUpstreamUnreachable, httpguard.ProblemUpstreamUnreachable}},
		"no answer":    {silent.url(), 500, []string{httpguard.ProblemUpstreamNoAnswer, httpguard.ProblemOutcomeUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind := route(t, "/")
			behind.Options.Statuses = map[string]int{c.problems[0]: c.status}
			inner := newFront(t, memstore.New(nil), guarding(t, c.upstream, behind))
			to, err := url.Parse(inner.server.URL)
			if err != nil {
				t.Fatal(err)
			}
			outer, key := newFront(t, memstore.New(nil), guarding(t, to)), freshKey()
			for try, want := range c.problems {
				if g := outer.post(t, "/orders", key, "x"); g.problem() != want || g.replayed() || try == 0 && g.status != c.status {
					t.Errorf("try %d: %+v", try, g)
				}
			}
		})
	}
}

// A service whose effects commit with their records says by its problems that a request is to be sent again: that is the last word
// on its key neither in front nor for the client, who does not see how it was said.
func TestServiceOfEffectsBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"not asked":     {store.Unavailable(errors.New("away")), 503, httpguard.ProblemStoreUnavailable},
		"not confirmed": {store.Indeterminate(errors.New("cut")), 409, httpguard.ProblemOutcomeUnknown},
		"in progress":   {&store.Refusal{Reply: machine.Reply{Outcome: machine.InProgress}}, 409, httpguard.ProblemInProgress},
		"given up":      {&reprise.Error{Kind: reprise.ErrClosed}, 503, httpguard.ProblemStoreUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.CompareAndSwap(false, true) {
					httpguard.WriteProblem(w, httpguard.EffectProblem(c.err))
					return
				}
				w.WriteHeader(http.StatusCreated)
			})
			f, key := newFront(t, memstore.New(nil), guarding(t, up)), freshKey()
			g := f.post(t, "/orders", key, "x")
			if g.status != c.status || g.problem() != c.want || g.header.Get("Retry-After") == "" || g.header[httpguard.HeaderNoEffect] != nil {
				t.Errorf("at first: %+v", g)
			}
			for try := range 2 {
				if g := f.post(t, "/orders", key, "x"); g.status != http.StatusCreated || g.replayed() != (try > 0) {
					t.Errorf("sent again, try %d: %+v", try, g)
				}
			}
		})
	}
}

// What a proxy behind does not guard is judged in front, by what the service says of it, or the proxy that had no answer.
func TestUnguardedBehindAGuard(t *testing.T) {
	t.Parallel()
	said := func(verdict string, status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set(httpguard.HeaderNoEffect, verdict)
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		first        func(http.ResponseWriter)
		status, then int
	}{
		"nothing was done": {said("true", 503), 503, 201},
		"nobody knows":     {said("false", 500), 500, 409},
		"no answer":        {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 504, 409},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.CompareAndSwap(false, true) {
					c.first(w)
					return
				}
				w.WriteHeader(http.StatusCreated)
			})
			inner := newFront(t, memstore.New(nil), guarding(t, up, Route{Path: "/", Unguarded: true}))
			to, err := url.Parse(inner.server.URL)
			if err != nil {
				t.Fatal(err)
			}
			outer, key := newFront(t, memstore.New(nil), guarding(t, to)), freshKey()
			if g := outer.post(t, "/orders", key, ""); g.status != c.status || g.header[httpguard.HeaderNoEffect] != nil {
				t.Errorf("at first: %+v", g)
			}
			if g := outer.post(t, "/orders", key, ""); g.status != c.then || g.replayed() {
				t.Errorf("sent again: %+v", g)
			}
		})
	}
}

// Nothing was sent by a proxy behind that does not guard and whose upstream is away: the key can be tried again in front.
func TestUnreachableBehindAnUnguardedRoute(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	inner := newFront(t, memstore.New(nil), guarding(t, &url.URL{Scheme: "http", Host: gone.Addr().String()}, Route{Path: "/", Unguarded: true}))
	to, err := url.Parse(inner.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	outer, key := newFront(t, memstore.New(nil), guarding(t, to)), freshKey()
	for try := range 2 {
		if g := outer.post(t, "/orders", key, ""); g.problem() != httpguard.ProblemUpstreamUnreachable || g.replayed() {
			t.Errorf("try %d: %+v", try, g)
		}
	}
}
