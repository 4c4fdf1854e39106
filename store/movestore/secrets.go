package movestore

import (
	"context"
	"errors"
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

// sameSecrets refuses stores under different secrets: each would take the other's keys for new. Before a version that the primary store lacks, what
// can never be put right is told.
func sameSecrets(primary, previous []store.Secret) (err error) {
	for _, k := range previous {
		i := slices.IndexFunc(primary, func(o store.Secret) bool { return o.Version == k.Version })
		switch {
		case i < 0:
			err = refuse("version %d of the secret is known to the old store only: %w", k.Version, errBehind)
		case primary[i].Check != k.Check:
			return refuse("version %d of the secret is not the same in the two stores: give the new store the secret of the old one (reprise store init --new --secret-file)", k.Version)
		case primary[i].PrimaryFrom != k.PrimaryFrom && primary[i].Retired.IsZero() && k.Retired.IsZero():
			return refuse("version %d of the secret is primary from %v in one store and from %v in the other", k.Version, k.PrimaryFrom, primary[i].PrimaryFrom)
		}
	}
	for _, k := range primary {
		if !slices.ContainsFunc(previous, func(o store.Secret) bool { return o.Version == k.Version }) {
			return refuse("version %d of the secret is known to the new store only: versions are added and retired before a move or after it", k.Version)
		}
	}
	return err
}

// errBehind is found in the error of two stores of one move of which the primary one lacks a version of the secret.
var errBehind = errors.New("the new store does not have it yet: `reprise store copy`, or a process that opens both stores, brings it over")

// agree is read, after the primary store has got versions of the secret that were added to the previous one since the stores were marked: by processes
// that know that one alone, until the move is announced. Each of them is primary long before new keys are made in the
// primary store ([store.AdmitSecret]).
func (p *pair) agree(ctx context.Context) (toward, away ring, m move, err error) {
	const tries = 3 // a version more in each
	for range tries {
		if toward, away, m, err = p.read(ctx); !errors.Is(err, errBehind) {
			break
		}
		if failed := p.bring(ctx, toward, away); failed != nil {
			return toward, away, m, failed
		}
	}
	return toward, away, m, err
}

// bring gives the primary store the versions of the secret that it lacks.
func (p *pair) bring(ctx context.Context, toward, away ring) error {
	for _, secret := range away.secrets {
		if slices.ContainsFunc(toward.secrets, func(o store.Secret) bool { return o.Version == secret.Version }) {
			continue
		}
		if err := p.toward.AddSecret(ctx, secret, store.CopiedSecret); err != nil {
			return err
		}
	}
	return nil
}
