package pgstore

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A version that is announced in time and written too late is refused: nobody would have heard of it before it is primary.
func TestSecretThatIsWrittenTooLate(t *testing.T) {
	t.Parallel()
	server := servicetest.Postgres(t)
	d := prepare(t, server.Database(t), DefaultSchema)
	proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
	s, err := Open(t.Context(), proxy.Through(d.dsn), Options{MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	first := store.Secret{Version: 1, Check: machine.Digest{1}}
	if err := d.open(Options{}).AddSecret(t.Context(), first, time.Minute); err != nil { // and the other one has not prepared the statement
		t.Fatal(err)
	}
	_, now, err := s.Secrets(t.Context())
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
	go func() { added <- s.AddSecret(t.Context(), second, time.Minute) }()
	select {
	case <-held:
	case err := <-added:
		t.Fatalf("not held: %v", err)
	}
	d.advance(time.Hour - time.Minute)
	close(release)
	if err := <-added; !errors.Is(err, store.ErrSecretTooLate) {
		t.Errorf("added too late: %v", err)
	}
	proxy.SetPlan(faultnet.None)
	known, _, err := s.Secrets(t.Context())
	if err != nil || len(known) != 1 || known[0] != first {
		t.Errorf("known: %v, %v", known, err)
	}
	second.PrimaryFrom = second.PrimaryFrom.Add(time.Hour)
	if err := s.AddSecret(t.Context(), second, time.Minute); err != nil {
		t.Errorf("announced again: %v", err)
	}
}
