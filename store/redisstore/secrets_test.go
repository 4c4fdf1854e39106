package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A version that is announced in time and written too late is refused: nobody would have heard of it before it is primary.
func TestSecretThatIsWrittenTooLate(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open()
	first := store.Secret{Version: 1, Check: machine.Digest{1}}
	if err := s.AddSecret(t.Context(), first, time.Minute); err != nil {
		t.Fatal(err)
	}
	tries := 0
	err := s.changeSecrets(t.Context(), func(known []store.Secret, now machine.Instant) (*store.Secret, machine.Instant, error) {
		second := store.Secret{Version: 2, Check: machine.Digest{2}, PrimaryFrom: now.Add(time.Minute)} // just in time
		if tries++; tries > 1 {
			second.PrimaryFrom--
		}
		secret, until, err := addition(second, time.Minute)(known, now)
		for later := now; err == nil && later <= until; { // the process is stopped for a while
			if later, err = s.now(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return secret, until, err
	})
	if !errors.Is(err, store.ErrSecretTooLate) || tries != 2 {
		t.Errorf("added too late: %v, after %d tries", err, tries)
	}
	known, _, err := s.Secrets(t.Context())
	if err != nil || len(known) != 1 || known[0] != first {
		t.Errorf("known: %v, %v", known, err)
	}
}

// Of two who retire a version at once, the first says when that was.
func TestSecretThatIsRetiredTwice(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open()
	if err := s.AddSecret(t.Context(), store.Secret{Version: 1, Check: machine.Digest{1}}, time.Minute); err != nil {
		t.Fatal(err)
	}
	retired := func() store.Secret {
		t.Helper()
		known, _, err := s.Secrets(t.Context())
		if err != nil || len(known) != 1 || known[0].Retired.IsZero() {
			t.Fatalf("known: %v, %v", known, err)
		}
		return known[0]
	}
	var first store.Secret
	err := s.changeSecrets(t.Context(), func(known []store.Secret, now machine.Instant) (*store.Secret, machine.Instant, error) {
		secret, until, err := retirement(1)(known, now)
		if secret == nil || first.Version > 0 {
			return secret, until, err
		}
		if err := s.RetireSecret(t.Context(), 1); err != nil { // somebody else is faster
			t.Fatal(err)
		}
		first, secret.Retired = retired(), now.Add(time.Hour)
		return secret, until, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if last := retired(); last != first {
		t.Errorf("retired at %v, and then at %v", first.Retired, last.Retired)
	}
}
