package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

type secrets struct {
	mu       sync.Mutex
	versions []store.Secret
}

// Secrets implements [store.SecretKeeper].
func (s *Store) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	if err := s.usable(ctx); err != nil {
		return nil, 0, err
	}
	s.secrets.mu.Lock()
	defer s.secrets.mu.Unlock()
	return slices.Clone(s.secrets.versions), machine.InstantOf(s.now()), nil
}

// AddSecret implements [store.SecretKeeper].
func (s *Store) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.secrets.mu.Lock()
	defer s.secrets.mu.Unlock()
	admitted, err := store.AdmitSecret(s.secrets.versions, secret, machine.InstantOf(s.now()), ahead)
	if err != nil || !admitted {
		return err
	}
	s.secrets.versions = append(s.secrets.versions, secret)
	slices.SortFunc(s.secrets.versions, func(a, b store.Secret) int { return cmp.Compare(a.Version, b.Version) })
	return nil
}

// RetireSecret implements [store.SecretKeeper].
func (s *Store) RetireSecret(ctx context.Context, version uint32) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.secrets.mu.Lock()
	defer s.secrets.mu.Unlock()
	for i := range s.secrets.versions {
		if v := &s.secrets.versions[i]; v.Version == version && v.Retired.IsZero() {
			v.Retired = machine.InstantOf(s.now())
		}
	}
	return nil
}
