package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
)

// Two processes rotate their secret under load: no key runs twice and no replay is lost. It takes as long
// as a rotation has to be announced ahead, and both cores, so it runs only when it is asked for.
func TestRotation(t *testing.T) {
	if !proving() {
		t.Skip("a part of make prove: set REPRISE_PROVE=1 to rotate a secret for 80 seconds")
	}
	onEachStore(t, func(t *testing.T, at *site) {
		var counted sync.Mutex
		runs := map[string]int{}
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			key, _ := io.ReadAll(r.Body)
			counted.Lock()
			defer counted.Unlock()
			runs[string(key)]++
			w.Write(key)
		})
		args := []string{"--upstream", up.URL, "--principal", "none"}
		proxies := []*proxyProcess{at.startProxy(t, nil, args...), at.startProxy(t, nil, args...)}
		from := time.Now().Add(reprise.SecretNotice + 6*time.Second).Truncate(time.Second)
		next := make([]byte, reprise.MinSecret)
		rand.Read(next)
		writeFile(t, at.secret, readFile(t, at.secret)+fmt.Sprintf("2 %s primary-from=%s\n", base64.StdEncoding.EncodeToString(next), from.Format(time.RFC3339)))
		for _, p := range proxies {
			p.signal(syscall.SIGHUP)
			p.await("reloaded")
		}
		var clients sync.WaitGroup
		for client := range 8 {
			clients.Go(func() {
				key := func(i int) string { return fmt.Sprintf("%d of client %d", i, client) }
				quoted := func(i int) string { return `"` + key(i) + `"` }
				for i := 0; time.Now().Before(from.Add(10 * time.Second)); i++ {
					var both sync.WaitGroup
					for _, p := range proxies {
						both.Go(func() {
							if g := p.post("/", quoted(i), key(i)); g.body != key(i) && g.problem() != httpguard.ProblemInProgress {
								t.Errorf("%s: %+v", key(i), g)
							}
						})
					}
					both.Wait()
					if g := proxies[i%2].post("/", quoted(i/2), key(i/2)); !g.replayed {
						t.Errorf("%s again: %+v", key(i/2), g)
					}
				}
			})
		}
		clients.Wait()
		for key, n := range runs {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
		t.Logf("%d keys", len(runs))
	})
}
