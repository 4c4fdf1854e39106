package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// secretsLock is the name of the lock under which a new version of the secret is decided on.
const secretsLock = "reprise.secrets"

// Secrets implements [store.SecretKeeper]. The time is read first: what was announced until then is seen.
func (s *Store) Secrets(ctx context.Context) (known []store.Secret, at machine.Instant, err error) {
	err = s.errand(ctx, func(c *conn) (err error) {
		known, at, err = s.readSecrets(ctx, c)
		return err
	})
	return known, at, unsent(ctx, err)
}

// AddSecret implements [store.SecretKeeper].
func (s *Store) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	var refusal error
	err := s.errand(ctx, func(c *conn) error {
		return s.locked(ctx, c, secretsLock, func() error {
			for {
				known, now, err := s.readSecrets(ctx, c)
				if err != nil {
					return unsent(ctx, err)
				}
				var admitted bool
				if admitted, refusal = store.AdmitSecret(known, secret, now, ahead); !admitted {
					return nil
				}
				added, err := s.addSecret(ctx, c, secret, store.LatestSecret(known, secret, ahead))
				if err != nil || added {
					return err
				}
			}
		})
	})
	if err != nil {
		return sent(err)
	}
	return refusal
}

// addSecret adds a version unless that time has passed. One whose number is known counts as added.
func (s *Store) addSecret(ctx context.Context, c *conn, secret store.Secret, until machine.Instant) (added bool, err error) {
	result, err := c.exec(ctx, s.sql.addSecret.with(secret.Version, secret.Check[:], secret.PrimaryFrom, secret.Retired, until))
	if err != nil {
		if number(err) == duplicateKey {
			return true, nil
		}
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// locked does something that one process at a time does.
func (s *Store) locked(ctx context.Context, c *conn, name string, work func() error) error {
	var got int64
	patience := int(s.options.Timeout.Seconds()) + 1
	if err := c.readOne(ctx, s.sql.lockDatabase.with([]byte(name), patience), &got); err != nil {
		return unsent(ctx, err)
	}
	if got != 1 {
		return store.Unavailable(errors.New("another process decides on a secret and does not end: try again"))
	}
	defer func() {
		if err := c.readOne(ctx, s.sql.unlockDatabase.with([]byte(name)), &got); err != nil {
			c.broken = true // the lock ends with the connection
		}
	}()
	return work()
}

// RetireSecret implements [store.SecretKeeper].
func (s *Store) RetireSecret(ctx context.Context, version uint32) error {
	return sent(s.errand(ctx, func(c *conn) error {
		_, err := c.exec(ctx, s.sql.retireSecret.with(version))
		return err
	}))
}

func (s *Store) readSecrets(ctx context.Context, c *conn) (known []store.Secret, at machine.Instant, err error) {
	var now int64
	if err := c.readOne(ctx, s.sql.now.with(), &now); err != nil {
		return nil, 0, err
	}
	err = c.query(ctx, s.sql.secrets.with(), nil, func(_ int, columns []driver.Value) error {
		check, err := readDigest(columns[1])
		if err != nil {
			return errors.Join(store.ErrCorrupt, errors.New("a secret's fingerprint is too short"))
		}
		known = append(known, store.Secret{
			Version: uint32(readInt(columns[0])), Check: check, PrimaryFrom: readInstant(columns[2]), Retired: readInstant(columns[3]),
		})
		return nil
	})
	return known, machine.Instant(now), err
}
