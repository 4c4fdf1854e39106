package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/patience"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

// faulty starts a service on a store whose commands fail by a plan.
func faulty(t *testing.T, plan faultstore.Plan, o httpguard.Options, policy reprise.Policy, handler http.HandlerFunc) *service {
	t.Helper()
	policy.Secrets = reprisetest.Secrets(t)
	guard, err := reprise.New(faultstore.New(memstore.New(nil), plan), policy)
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, guard, o, handler)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is still being retried is given up
		_ = guard.Close(ctx)
	})
	return s
}

func TestStoreCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := faulty(t, faultstore.From(1, faultstore.Refused()), httpguard.Options{}, quick(), created)
	a := s.post("k1")
	a.wantProblem(t, 503, "store-unavailable")
	if a.header.Get("Retry-After") != "1" || s.runs.Load() != 0 {
		t.Errorf("Retry-After %q, the handler ran %d times", a.header.Get("Retry-After"), s.runs.Load())
	}
}

// quick is a policy under which a store that fails is given up soon.
func quick() reprise.Policy {
	return reprise.Policy{CommandTimeout: 20 * time.Millisecond, Lease: time.Minute}
}

func TestFailOpen(t *testing.T) {
	t.Parallel()
	s := faulty(t, faultstore.From(1, faultstore.Refused()), httpguard.Options{FailOpen: true}, quick(), created)
	a := s.post("k1")
	if a.status != 201 || string(a.body) != `made from {"item":"tea"}` || a.header.Get(httpguard.HeaderRecorded) != "false" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	if got := fmt.Sprint(s.outcomes()); got != "[failed-open]" {
		t.Errorf("observed %s", got)
	}
}

// What a store has forgotten may have been done: failing open would do it again.
func TestLostStoreIsNotFailedOpen(t *testing.T) {
	t.Parallel()
	s := faulty(t, faultstore.From(1, faultstore.Lost()), httpguard.Options{FailOpen: true}, quick(), created)
	a := s.post("k1")
	a.wantProblem(t, 503, "store-lost")
	if a.header.Get("Retry-After") == "" || s.runs.Load() != 0 {
		t.Errorf("Retry-After %q, the handler ran %d times", a.header.Get("Retry-After"), s.runs.Load())
	}
}

// A store that answers, and makes no record because each claim comes too late, is asked: failing open would run what may have a record under a
// version of the secret that this process has not seen.
func TestOutdatedClaimIsNotFailedOpen(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64 // which jumps between the look at the versions and the claim, whenever it is read
	jumps := memstore.New(func() time.Time {
		return time.Unix(1_800_000_000, 0).Add(time.Duration(clock.Add(1)) * reprise.SecretNotice)
	})
	policy := quick()
	policy.Secrets = reprisetest.Secrets(t)
	guard, err := reprise.New(jumps, policy)
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, guard, httpguard.Options{FailOpen: true}, created)
	a := s.post("k1")
	a.wantProblem(t, 503, "store-unavailable")
	if a.header.Get("Retry-After") != "1" || a.header.Get(httpguard.HeaderNoEffect) != "true" || s.runs.Load() != 0 {
		t.Errorf("%v, the handler ran %d times", a.header, s.runs.Load())
	}
	call := reprise.Call{Operation: "pay", Principal: "alice", Key: "k1", Payload: []byte("tea")}
	_, err = guard.Do(t.Context(), call, func(context.Context, *reprise.Run) (reprise.Response, error) { return reprise.Response{}, nil })
	if !errors.Is(err, reprise.ErrOutdated) || !errors.Is(err, reprise.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

// O7: the effect happened and the store does not confirm the record. The answer is given, and says so.
func TestCompletionNotConfirmed(t *testing.T) {
	t.Parallel()
	s := faulty(t, faultstore.Every(machine.KindComplete, faultstore.Unsent()), httpguard.Options{}, quick(), created)
	a := s.post("k1")
	if a.status != 201 || a.header.Get(httpguard.HeaderRecorded) != "false" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) != 1 || !s.events[0].Unrecorded || s.events[0].Outcome != httpguard.OutcomeFresh {
		t.Errorf("observed %+v", s.events)
	}
}

// The same for answers that leave before their end.
func TestStreamNotConfirmed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options httpguard.Options
		handler http.HandlerFunc
		plan    faultstore.Plan
		want    string
	}{
		"large":              {httpguard.Options{MaxKept: 10}, created, faultstore.Every(machine.KindComplete, faultstore.Unsent()), "false"},
		"flushed":            {httpguard.Options{}, flushed, faultstore.Every(machine.KindComplete, faultstore.Unsent()), "false"},
		"confirmed":          {httpguard.Options{MaxKept: 10}, created, faultstore.None, ""},
		"not to be recorded": {httpguard.Options{MaxKept: 10, NoEffect: []int{201}}, created, faultstore.None, "false"}, // before it leaves
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faulty(t, c.plan, c.options, quick(), c.handler)
			if a := s.post("k1"); a.status != 201 || a.err != nil || a.header.Get(httpguard.HeaderRecorded) != c.want {
				t.Errorf("%d %v %v, want %s: %q", a.status, a.header, a.err, httpguard.HeaderRecorded, c.want)
			}
		})
	}
}

func flushed(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(201)
	w.(http.Flusher).Flush()
	fmt.Fprint(w, "streamed")
}

// The same where the operation may run again: then the answer would be one of several.
func TestCompletionNotConfirmedUnderRerun(t *testing.T) {
	t.Parallel()
	policy := quick()
	policy.Interruption = reprise.Rerun
	s := faulty(t, faultstore.Every(machine.KindComplete, faultstore.Unsent()), httpguard.Options{}, policy, created)
	a := s.post("k1")
	a.wantProblem(t, 409, "outcome-unknown")
	if a.header.Get("Location") != "" {
		t.Errorf("headers of the withheld answer: %v", a.header)
	}
}

// O20: a client that hangs up does not leave the record behind.
func TestClientHangsUp(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		if r.Context().Err() != nil {
			t.Errorf("the handler's context ended: %v", context.Cause(r.Context()))
		}
		created(w, r)
	})
	ctx, hangUp := context.WithCancel(t.Context())
	r := s.request("POST", "/orders", `{"item":"tea"}`, "Idempotency-Key: k1", "Content-Type: application/json").WithContext(ctx)
	gone := make(chan answer, 1)
	go func() { gone <- s.do(r) }()
	<-entered
	hangUp()
	if a := <-gone; a.err == nil {
		t.Fatal("the client did not hang up")
	}
	close(release)
	s.server.Close() // waits for the handler
	if got := fmt.Sprint(s.outcomes()); got != "[fresh]" {
		t.Fatalf("observed %s", got)
	}
	if a := serveOn(t, s.bench.Guard, httpguard.Options{}, created).post("k1"); a.status != 201 || a.header.Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
}

// Nobody would get the answer for which a duplicate waits whose client has gone. What the handler itself waits for goes on.
func TestADuplicatesClientHangsUp(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	s := serve(t, reprise.Policy{Wait: time.Hour}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if patience.Of(r.Context()) != r.Context() {
			t.Error("what the handler waits for ends with its client")
		}
		close(entered)
		<-release
		created(w, r)
	})
	first := make(chan answer, 1)
	go func() { first <- s.post("k1") }()
	<-entered
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	duplicate, left := s.request("POST", "/orders", `{"item":"tea"}`, "Idempotency-Key: k1", "Content-Type: application/json").WithContext(ctx), httptest.NewRecorder()
	s.server.Config.Handler.ServeHTTP(left, duplicate)
	close(release)
	if left.Code != http.StatusConflict || !strings.Contains(left.Body.String(), "in-progress") {
		t.Errorf("%d %s", left.Code, left.Body)
	}
	if a := <-first; a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestClosedGuard(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, created)
	if err := s.bench.Guard.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.post("k1").wantProblem(t, 503, "store-unavailable")
}

func TestOperationWithoutAName(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{Operation: func(*http.Request) string { return "" }}, created)
	s.post("k1").wantProblem(t, 500, "misconfigured")
}

// A body is the handler's alone: what a transport still reads after the handler returned is cut off, and
// never another request's.
func TestBodyReadAfterTheHandlerReturned(t *testing.T) {
	t.Parallel()
	var left io.Reader
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(_ http.ResponseWriter, r *http.Request) { left = r.Body })
	s.post("k1")
	if rest, err := io.ReadAll(left); err == nil || len(rest) > 0 {
		t.Errorf("read %q, %v", rest, err)
	}
}
