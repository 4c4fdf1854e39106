package retryclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/reprisetest"
	"github.com/reprise-dev/reprise/retryclient"
)

// Against a guarded server that loses the first reply to each key, 20 calls from as many clients take
// effect 20 times, and each gets its answer.
func TestAgainstGuardedServer(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{})
	middleware, err := httpguard.New(bench.Guard, httpguard.Options{Principal: httpguard.None(), Required: true, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	var effects atomic.Int32
	guarded := middleware.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		effects.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	var met sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := met.LoadOrStore(r.Header.Get("Idempotency-Key"), true); again {
			guarded.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(httptest.NewRecorder(), r)
		hangUp(w)
	}))
	t.Cleanup(server.Close)
	client := retryclient.Client(&http.Transport{}, fast)
	t.Cleanup(client.CloseIdleConnections)
	var calls errgroup.Group
	for range 20 {
		calls.Go(func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("coffee"))
			if err != nil {
				return err
			}
			response, _, err := do(t, client, request)
			if err == nil && (response.StatusCode != http.StatusCreated || response.Header.Get(httpguard.HeaderReplayed) != "true") {
				t.Errorf("status %d, headers %v", response.StatusCode, response.Header)
			}
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		t.Error(err)
	}
	if n := effects.Load(); n != 20 {
		t.Errorf("20 calls took effect %d times", n)
	}
}
