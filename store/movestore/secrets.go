package movestore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Secrets implements [store.SecretKeeper]. Both stores must have the same versions, and still be those of one move. The
// time is that of the store which is behind.
func (s *Store) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	toward, away, m, err := s.pair.read(ctx)
	if err != nil {
		return nil, 0, err
	}
	if m.link != s.move.link || m.from != s.move.from {
		return nil, 0, refuse("the mark of the move is another one than when the stores were opened")
	}
	return slices.Clone(away.secrets), min(toward.at, away.at), nil
}

// AddSecret implements [store.SecretKeeper]. While records move, none is added.
func (s *Store) AddSecret(ctx context.Context, secret store.Secret, _ time.Duration) error {
	known, _, err := s.Secrets(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known, func(k store.Secret) bool { return k.Version == secret.Version }) {
		return nil // the caller finds out by reading
	}
	return fmt.Errorf("%w: version %d of the secret cannot be added while the store is moved: add it when that is over", store.ErrUnsupported, secret.Version)
}

// RetireSecret implements [store.SecretKeeper]. While records move, none is retired.
func (s *Store) RetireSecret(context.Context, uint32) error {
	return fmt.Errorf("%w: no version of the secret can be retired while the store is moved", store.ErrUnsupported)
}
