package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Secrets implements [store.SecretKeeper]. The time is read first: what was announced until then is seen.
func (s *Store) Secrets(ctx context.Context) (known []store.Secret, at machine.Instant, err error) {
	err = s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		if at, err = s.now(ctx, conn); err != nil {
			return err
		}
		known, err = s.readSecrets(ctx, conn)
		return err
	})
	return known, at, unsent(ctx, err)
}

// AddSecret implements [store.SecretKeeper].
func (s *Store) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	var refusal error
	err := s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		for {
			refusal, err = s.addSecret(ctx, conn, secret, ahead)
			if !errors.Is(err, errMoved) { // it is too late by now: it is refused, with the time
				return err
			}
		}
	})
	if err != nil {
		return sent(err)
	}
	return refusal
}

// addSecret lets one process after the other look at the versions and add one. That and the commit go out together, so that nothing
// comes between the comparison with the time and the moment from which others see the version: a process may be stopped anywhere.
func (s *Store) addSecret(ctx context.Context, conn *pgx.Conn, secret store.Secret, ahead time.Duration) (refusal, err error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, unsent(ctx, err)
	}
	committed := false
	defer func() {
		if !committed {
			_ = tx.Rollback(ctx)
		}
	}()
	if _, err := tx.Exec(ctx, s.sql.lockSecrets, s.address.channel()); err != nil {
		return nil, unsent(ctx, err)
	}
	known, err := s.readSecrets(ctx, conn)
	if err != nil {
		return nil, unsent(ctx, err)
	}
	now, err := s.now(ctx, conn)
	if err != nil {
		return nil, unsent(ctx, err)
	}
	admitted, refusal := store.AdmitSecret(known, secret, now, ahead)
	if !admitted {
		return refusal, nil
	}
	b := &pgx.Batch{}
	b.Queue(s.sql.addSecret, secret.Version, secret.Check[:], int64(secret.PrimaryFrom), int64(secret.Retired), int64(store.LatestSecret(known, secret, ahead)))
	b.Queue("COMMIT")
	err = runToCommit(ctx, conn, b)
	committed = err == nil || errors.Is(err, errMoved)
	return nil, err
}

// RetireSecret implements [store.SecretKeeper].
func (s *Store) RetireSecret(ctx context.Context, version uint32) error {
	return sent(s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, s.sql.retireSecret, version)
		return err
	}))
}

func (s *Store) readSecrets(ctx context.Context, conn *pgx.Conn) ([]store.Secret, error) {
	rows, err := conn.Query(ctx, s.sql.secrets)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (known store.Secret, err error) {
		var check []byte
		if err = row.Scan(&known.Version, &check, &known.PrimaryFrom, &known.Retired); err != nil {
			return known, err
		}
		if copy(known.Check[:], check) != len(known.Check) {
			return known, errors.Join(store.ErrCorrupt, errors.New("a secret's fingerprint is too short"))
		}
		return known, nil
	})
}

// now returns the store's time.
func (s *Store) now(ctx context.Context, from interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (machine.Instant, error) {
	var at time.Time
	err := from.QueryRow(ctx, s.sql.now).Scan(&at)
	return machine.InstantOf(at), err
}

// errand does something beside the commands, on a connection of its own.
func (s *Store) errand(ctx context.Context, work func(ctx context.Context, conn *pgx.Conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	conn, release, err := s.acquire(ctx, s.errands)
	if err != nil {
		return err
	}
	defer release()
	return work(ctx, conn.Conn())
}
