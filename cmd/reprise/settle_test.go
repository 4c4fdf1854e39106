package main

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
)

// The proxy is killed while the upstream works on two requests. Nobody knows what happened, until somebody
// looks and decides: one has happened and replays what was decided, the other one runs again.
func TestKilledThenSettled(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		up, arrived, answer := held(t)
		args := []string{"--upstream", up.URL, "--principal", "authorization"}
		short := []string{"REPRISE_LEASE=9s", "REPRISE_COMMAND_TIMEOUT=3s", "REPRISE_DUPLICATES=wait 60s"}
		first := at.startProxy(t, short, args...)
		keys := []string{"happened", "not-happened"}
		for _, key := range keys {
			go first.post("/orders", key, key)
			<-arrived
		}
		first.kill()
		answer()

		p := at.startProxy(t, short, args...)
		digests := make([]string, len(keys))
		var callers sync.WaitGroup
		for i, key := range keys { // they wait for the end of the lease
			callers.Go(func() {
				g := p.post("/orders", key, key)
				var problem struct{ Record string }
				if err := json.Unmarshal([]byte(g.body), &problem); err != nil || g.problem() != httpguard.ProblemOutcomeUnknown {
					t.Errorf("%s: %+v, %v", key, g, err)
				}
				digests[i] = problem.Record
			})
		}
		callers.Wait()
		if n := up.requests.Load(); n != 2 {
			t.Fatalf("the upstream got %d requests before anything was settled, want 2", n)
		}

		body := filepath.Join(at.dir, "order.json")
		writeFile(t, body, `{"order":17}`)
		at.must(t, "ops", "settle", digests[0], "--completed", "--status", "201", "--body-file", body, "--who", "ann", "--why", "order 17 is in the book")
		at.must(t, "ops", "settle", digests[1], "--retryable", "--who", "ann", "--why", "it is in no book")
		for range 2 {
			if g := p.post("/orders", keys[0], keys[0]); g.status != 201 || g.body != `{"order":17}` || !g.replayed {
				t.Errorf("settled as completed: %+v", g)
			}
		}
		if n := up.requests.Load(); n != 2 {
			t.Errorf("the upstream got %d requests, one of them for what was settled as completed", n)
		}
		for i := range 2 {
			if g := p.post("/orders", keys[1], keys[1]); g.status != 200 || g.body != "made" || g.replayed != (i == 1) {
				t.Errorf("settled as retryable, try %d: %+v", i+1, g)
			}
		}
		if n := up.requests.Load(); n != 3 {
			t.Errorf("the upstream got %d requests, want one more for what was settled as retryable", n)
		}
	})
}
