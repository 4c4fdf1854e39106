package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

// Settings are replaced under load: no request is dropped, none runs twice, and keys of before are found.
func TestReplaceUnderLoad(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store.Store) {
		up, count := serving(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
		f := newFront(t, s, guarding(t, up))
		before := freshKey()
		f.post(t, "/", before, "")
		var callers sync.WaitGroup
		const each, all = 25, 8
		for range all {
			callers.Go(func() {
				for range each {
					if g := f.post(t, "/", freshKey(), "x"); g.status != 200 || g.body != "made" {
						t.Errorf("got %+v", g)
					}
				}
			})
		}
		for range 20 {
			if err := f.Replace(t.Context(), guarding(t, up), ""); err != nil {
				t.Fatal(err)
			}
		}
		callers.Wait()
		if g := f.post(t, "/", before, ""); !g.replayed() {
			t.Errorf("a key of before: %+v", g)
		}
		if n := count.Load(); n != each*all+1 {
			t.Errorf("the upstream got %d requests, want %d", n, each*all+1)
		}
	})
}

// asked is a store that, once it is told to, answers no question about secrets before its caller gives up, and says why he did.
type asked struct {
	*memstore.Store
	hangs  atomic.Bool
	begun  chan struct{}
	gaveUp chan error
}

func (s *asked) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	if !s.hangs.Load() {
		return s.Store.Secrets(ctx)
	}
	s.begun <- struct{}{}
	<-ctx.Done()
	s.gaveUp <- ctx.Err()
	return nil, 0, ctx.Err()
}

// Settings that are refused leave nothing behind: what their guards have asked the store is given up with them, and not when it is
// answered.
func TestRefusedSettingsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	s := &asked{Store: memstore.New(nil), begun: make(chan struct{}, 1), gaveUp: make(chan error, 1)}
	f := newFront(t, s, guarding(t, up))
	s.hangs.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 1)
	go func() { refused <- f.Replace(ctx, guarding(t, up), "") }()
	<-s.begun
	cancel()
	if err := <-refused; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := <-s.gaveUp; !errors.Is(err, context.Canceled) { // the command time-out would end it, too
		t.Errorf("the question of a refused guard ended with %v", err)
	}
	s.hangs.Store(false)
	if g := f.post(t, "/", freshKey(), ""); g.status != 200 {
		t.Errorf("what was current before: %+v", g)
	}
}

// A request that runs goes on under the settings with which it began, and is recorded.
func TestReplaceWhileRunning(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-goOn
		io.WriteString(w, "made")
	})
	f := newFront(t, memstore.New(nil), guarding(t, up))
	key := freshKey()
	first := make(chan got)
	go func() { first <- f.post(t, "/", key, "") }()
	<-arrived
	if err := f.Replace(t.Context(), guarding(t, up), ""); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if g := <-first; g.body != "made" {
		t.Fatalf("got %+v", g)
	}
	if g := f.post(t, "/", key, ""); !g.replayed() {
		t.Errorf("retry: %+v", g)
	}
}

func TestScopeChanges(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "made") })
	with := func(path string, change func(*Route)) Route {
		r := route(t, path)
		change(&r)
		return r
	}
	same := func(*Route) {}
	named := func(r *Route) { r.Operation = "order" }
	for name, test := range map[string]struct {
		before, after []Route
		refused       string // in the words of the refusal; "" when it is accepted
	}{
		"nothing":             {[]Route{with("/a", named)}, []Route{with("/a", named)}, ""},
		"lease":               {[]Route{with("/a", same)}, []Route{with("/a", func(r *Route) { r.Policy.Lease = 60e9 })}, ""},
		"same header":         {[]Route{with("/a", same)}, []Route{with("/a", func(r *Route) { r.Options.Header = "idempotency-key" })}, ""},
		"operation":           {[]Route{with("/a", same)}, []Route{with("/a", named)}, "POST /a: operation (method and path)"},
		"header":              {[]Route{with("/a", same)}, []Route{with("/a", func(r *Route) { r.Options.Header = "X-Key" })}, "header X-Key"},
		"principal":           {[]Route{with("/a", same)}, []Route{with("/a", func(r *Route) { r.PrincipalName = "authorization" })}, "principal authorization"},
		"unguarded":           {[]Route{with("/a", same)}, []Route{with("/a", func(r *Route) { r.Unguarded = true })}, "not guarded"},
		"fewer methods":       {[]Route{with("/a", same)}, []Route{with("/a", func(r *Route) { r.Options.Methods = []string{"POST"} })}, "PATCH /a"},
		"removed":             {[]Route{with("/a/{id}", same)}, []Route{with("/b", same)}, "POST /a/{id}"},
		"replaced by another": {[]Route{with("/a/{id}", same)}, []Route{with("/a/", same)}, ""},
		"new path":            {[]Route{with("/a", same)}, []Route{with("/a", same), with("/b", named)}, ""},
		"part of a route":     {[]Route{with("/", same)}, []Route{with("/", same), with("/b/{x}/c", named)}, "POST /b/{x}/c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, memstore.New(nil), guarding(t, up, test.before...))
			err := f.Replace(t.Context(), guarding(t, up, test.after...), "other mark")
			if test.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var change *ScopeChange
			if !errors.As(err, &change) || !strings.Contains(err.Error(), test.refused) {
				t.Fatalf("got %v, want a refusal with %q", err, test.refused)
			}
			if err := f.Replace(t.Context(), guarding(t, up, test.after...), change.Mark); err != nil {
				t.Errorf("accepted by its mark: %v", err)
			}
		})
	}
}

// Close waits for what runs, and records it.
func TestClose(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store.Store) {
		arrived, goOn := make(chan struct{}), make(chan struct{})
		up, _ := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-goOn
			io.WriteString(w, "made")
		})
		f := newFront(t, s, guarding(t, up))
		key := freshKey()
		first, closed := make(chan got), make(chan error)
		go func() { first <- f.post(t, "/", key, "") }()
		<-arrived
		go func() { closed <- f.Close(t.Context()) }()
		close(goOn)
		if g := <-first; g.body != "made" {
			t.Fatalf("got %+v", g)
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if g := f.post(t, "/", freshKey(), ""); g.problem() != httpguard.ProblemStoreUnavailable || g.header.Get("Retry-After") == "" || g.header.Get(httpguard.HeaderNoEffect) != "true" {
			t.Errorf("after close, which is to be sent again: %+v", g)
		}
		if g := newFront(t, s, guarding(t, up)).post(t, "/", key, ""); !g.replayed() {
			t.Errorf("retry at the next process: %+v", g)
		}
	})
}

// A close that may not wait cuts off what runs, records it as unknown, and says so.
func TestCloseGivesUp(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s store.Store) {
		arrived, goOn := make(chan struct{}), make(chan struct{})
		up, count := serving(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-goOn })
		f := newFront(t, s, guarding(t, up))
		key := freshKey()
		first := make(chan got)
		go func() { first <- f.post(t, "/", key, "") }()
		<-arrived
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want to be told that something still ran", err)
		}
		if g := <-first; g.problem() != httpguard.ProblemUpstreamNoAnswer {
			t.Errorf("what was cut off: %+v", g)
		}
		close(goOn)
		if g := newFront(t, s, guarding(t, up)).post(t, "/", key, ""); g.problem() != httpguard.ProblemOutcomeUnknown || count.Load() != 1 {
			t.Errorf("retry at the next process: %+v", g)
		}
	})
}

// So does one that cuts off what ran under settings that were replaced.
func TestCloseGivesUpWhatWasReplaced(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	up, _ := serving(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-goOn })
	t.Cleanup(func() { close(goOn) })
	f := newFront(t, memstore.New(nil), guarding(t, up))
	first := make(chan got)
	go func() { first <- f.post(t, "/", freshKey(), "") }()
	<-arrived
	if err := f.Replace(t.Context(), guarding(t, up), ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to be told that something still ran", err)
	}
	if g := <-first; g.problem() != httpguard.ProblemUpstreamNoAnswer {
		t.Errorf("what was cut off: %+v", g)
	}
}

// lossy forgets what it records, as a store that is not one would.
type lossy struct{ store.Store }

func (l lossy) Unwrap() store.Store { return l.Store }
func (l lossy) Apply(ctx context.Context, c machine.Command) (machine.Reply, error) {
	reply, err := l.Store.Apply(ctx, c)
	if begin, ok := c.(machine.Begin); ok && err == nil && reply.Outcome == machine.Replay {
		begin.Scope.Digest[0]++ // another record
		return l.Store.Apply(ctx, begin)
	}
	return reply, err
}

// A store that does not find what it recorded is refused at the start: O19.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := New(t.Context(), lossy{memstore.New(nil)}, guarding(t, up), nil); err == nil || !strings.Contains(err.Error(), "self-test") {
		t.Errorf("got %v, want the self-test to fail", err)
	}
}

func TestWrongSecret(t *testing.T) {
	t.Parallel()
	up, _ := serving(t, func(http.ResponseWriter, *http.Request) {})
	s := memstore.New(nil)
	newFront(t, s, guarding(t, up))
	other := route(t, "/")
	var err error
	if other.Policy.Secrets, err = reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: []byte(strings.Repeat("x", 32))}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), s, guarding(t, up, other), nil); !errors.Is(err, reprise.ErrSecret) {
		t.Errorf("got %v, want the secret to be refused", err)
	}
}

func TestPrincipalMissing(t *testing.T) {
	t.Parallel()
	up, count := serving(t, func(http.ResponseWriter, *http.Request) {})
	byHeader := route(t, "/")
	byHeader.PrincipalName, byHeader.Options.Principal = "header:X-User", httpguard.Header("X-User")
	f := newFront(t, memstore.New(nil), guarding(t, up, byHeader))
	if g := f.post(t, "/", freshKey(), ""); g.status != 400 || g.problem() != httpguard.ProblemPrincipalMissing || count.Load() != 0 {
		t.Errorf("got %+v", g)
	}
}
