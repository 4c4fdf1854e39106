package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Secrets implements [store.SecretKeeper].
func (s *Store) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	r, err := s.borrow(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer s.giveBack(r)
	at := machine.InstantOf(s.now())
	known, err := secrets(r.conn)
	if err != nil {
		return nil, 0, s.certain(err)
	}
	return known, at, nil
}

// AddSecret implements [store.SecretKeeper].
func (s *Store) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	var refusal error
	err := s.do(ctx, func(t *transaction, now time.Time) error {
		known, err := secrets(t.conn)
		if err != nil {
			return err
		}
		admitted, err := store.AdmitSecret(known, secret, machine.InstantOf(now), ahead)
		if refusal = err; !admitted {
			return nil
		}
		return t.conn.exec(addSecretSQL, int64(secret.Version), secret.Check[:], int64(secret.PrimaryFrom), int64(secret.Retired))
	})
	if err != nil {
		return err
	}
	return refusal
}

// RetireSecret implements [store.SecretKeeper].
func (s *Store) RetireSecret(ctx context.Context, version uint32) error {
	return s.do(ctx, func(t *transaction, now time.Time) error {
		return t.conn.exec(retireSecretSQL, int64(machine.InstantOf(now)), int64(version))
	})
}

func secrets(c *conn) (known []store.Secret, err error) {
	err = c.query(secretsSQL, 4, func(row []driver.Value) error {
		version, _ := row[0].(int64)
		check, err := digestOf(row[1])
		from, _ := row[2].(int64)
		retired, _ := row[3].(int64)
		known = append(known, store.Secret{
			Version: uint32(version), Check: check, PrimaryFrom: machine.Instant(from), Retired: machine.Instant(retired),
		})
		return err
	})
	return known, err
}
