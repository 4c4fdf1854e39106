package faulttest

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// LateSecret sees to it that a version of the secret that is announced in time and written too late is refused: nobody would have heard of it
// before it is primary. The keeper is reached through the proxy, and has written no version before; beside is another one of the same SQL store, whose
// clock advance moves.
func LateSecret(t *testing.T, proxy *faultnet.Proxy, keeper, beside store.SecretKeeper, advance func(time.Duration)) {
	t.Helper()
	first := store.Secret{Version: 1, Check: machine.Digest{1}}
	if err := beside.AddSecret(t.Context(), first, time.Minute); err != nil { // and the other one has not prepared the statement
		t.Fatal(err)
	}
	_, now, err := keeper.Secrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := store.Secret{Version: 2, Check: machine.Digest{2}, PrimaryFrom: now.Add(time.Hour)}

	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	proxy.SetPlan(func(r faultnet.Request) (fault faultnet.Fault) {
		if bytes.Contains(r.Bytes, []byte("reprise_secret (version")) {
			once.Do(func() {
				close(held)
				fault = faultnet.HeldUntil(release)
			})
		}
		return fault
	})
	added := make(chan error, 1)
	go func() { added <- keeper.AddSecret(t.Context(), second, time.Minute) }()
	select {
	case <-held:
	case err := <-added:
		t.Fatalf("not held: %v", err)
	}
	advance(time.Hour - time.Minute)
	close(release)
	if err := <-added; !errors.Is(err, store.ErrSecretTooLate) {
		t.Errorf("added too late: %v", err)
	}
	proxy.SetPlan(faultnet.None)
	known, _, err := keeper.Secrets(t.Context())
	if err != nil || len(known) != 1 || known[0] != first {
		t.Errorf("known: %v, %v", known, err)
	}
	second.PrimaryFrom = second.PrimaryFrom.Add(time.Hour)
	if err := keeper.AddSecret(t.Context(), second, time.Minute); err != nil {
		t.Errorf("announced again: %v", err)
	}
}
