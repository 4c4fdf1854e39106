package movestore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/movestore"
)

// second is a version of the secret that a process which has the previous store alone announces now.
func second(c *clock) store.Secret {
	return store.Secret{Version: 2, Check: machine.Digest{9}, PrimaryFrom: machine.InstantOf(c.time().Add(movestore.Notice))}
}

// agreed checks that both stores, and the two as one, have versions 1 and 2, the second as it was announced.
func agreed(t *testing.T, announced store.Secret, keepers ...store.SecretKeeper) {
	t.Helper()
	for i, keeper := range keepers {
		known, _, err := keeper.Secrets(t.Context())
		if err != nil {
			t.Errorf("store %d: %v", i, err)
		}
		var got []store.Secret
		for _, k := range known {
			if !k.IsMark() {
				got = append(got, k)
			}
		}
		if len(got) != 2 || got[0].Version != 1 || got[1] != announced {
			t.Errorf("store %d knows of %+v, want %+v besides the first", i, got, announced)
		}
	}
}

// A copy begins days before the move, and a process that has the previous store alone rotates its secret meanwhile. The next
// copy brings the version over, and so does a process that opens both.
func TestRotationBetweenCopyAndMove(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(t *testing.T, c *clock, primary, previous *memstore.Store){
		"another copy": func(t *testing.T, c *clock, primary, previous *memstore.Store) {
			if got, err := movestore.Copy(t.Context(), previous, primary, movestore.CopyOptions{}); err != nil || got.Written != 1 || got.Same != 1 {
				t.Errorf("copied %+v, %v", got, err)
			}
		},
		"a process with both": func(*testing.T, *clock, *memstore.Store, *memstore.Store) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			primary, previous := stores(t, c)
			importing(t, previous, record(c, 1))
			if got, err := movestore.Copy(t.Context(), previous, primary, movestore.CopyOptions{}); err != nil || got.Written != 1 {
				t.Fatalf("copied %+v, %v", got, err)
			}
			announced := second(c)
			addSecret(t, previous, announced)
			c.advance(2 * movestore.Notice)
			under := record(c, 2)
			under.Scope.SecretVersion = 2
			importing(t, previous, under)
			if _, err := movestore.Verify(t.Context(), previous, primary, movestore.VerifyOptions{}); !errors.Is(err, movestore.ErrRefused) {
				t.Errorf("verified, which changes nothing: %v", err)
			}
			next(t, c, primary, previous)
			agreed(t, announced, open(t, primary, previous, c, time.Hour), primary, previous)
		})
	}
}

// rotated is a previous store in which another process adds a version of the secret just before the move is announced.
type rotated struct {
	*memstore.Store
	version *store.Secret
}

func (s *rotated) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	if add := s.version; secret.Version == store.MovedMark && add != nil {
		s.version = nil
		if err := s.Store.AddSecret(ctx, *add, movestore.Notice); err != nil {
			return err
		}
	}
	return s.Store.AddSecret(ctx, secret, ahead)
}

// A version that comes between the look at the secrets and the announcement is in both stores, too, if it is primary long enough before new keys
// are made in the primary one. Otherwise the move is not announced, and begins when the version is primary.
func TestRotationAtTheAnnouncement(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"in time": 2 * movestore.Notice, "too late": 2*movestore.Notice - time.Microsecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			primary, previous := stores(t, c)
			announced := second(c)
			options := func(after time.Duration) movestore.Options { return movestore.Options{From: c.time().Add(after)} }
			s, err := movestore.Open(t.Context(), primary, &rotated{previous, &announced}, options(after))
			if name == "in time" {
				if err != nil {
					t.Fatal(err)
				}
				agreed(t, announced, s, primary, previous)
				return
			}
			if !errors.Is(err, store.ErrSecretTooLate) {
				t.Fatalf("announced: %v", err)
			}
			if _, err := movestore.Open(t.Context(), primary, previous, options(after)); !errors.Is(err, movestore.ErrRefused) {
				t.Errorf("while the version waits: %v", err)
			}
			c.advance(2 * movestore.Notice)
			agreed(t, announced, open(t, primary, previous, c, time.Hour), primary, previous)
		})
	}
}

// A version that somebody added to the primary store alone is not the previous one's: nothing is brought back.
func TestVersionOfTheNewStoreAlone(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	s := open(t, primary, previous, c, time.Hour)
	addSecret(t, primary, second(c))
	if _, _, err := s.Secrets(t.Context()); !errors.Is(err, movestore.ErrRefused) {
		t.Errorf("%v", err)
	}
	if known, _, err := previous.Secrets(t.Context()); err != nil || len(known) != 3 { // the first, and two marks
		t.Errorf("%+v, %v", known, err)
	}
}
