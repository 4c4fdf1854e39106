package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/movestore"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

// copied is how many records are copied in a round.
const copied = 50_000

// benchCopy measures how fast answered records of a SQLite file are copied into PostgreSQL, against rows of the same size
// that are sent by COPY into a table with the same indexes, as many a commit.
func benchCopy(ctx context.Context, s settings, t *table, p *postgres) (err error) {
	from, err := sqlitestore.Open(ctx, filepath.Join(s.dir, "copied.db"), sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	t.progress("store copy: %d records", copied)
	if err := fillCopied(ctx, from); err != nil {
		return err
	}
	medians, ratio, err := inTurns(s.rounds, func() (float64, error) { return p.copyFrom(ctx, from) }, func() (float64, error) { return p.copyBare(ctx) })
	if err != nil {
		return err
	}
	t.atLeast("store copy, SQLite to PostgreSQL", "bare COPY, 500 rows a commit", ratio, 0.5, "×")
	t.info("store copy, SQLite to PostgreSQL", "", thousands(medians.ours))
	return nil
}

// fillCopied puts answers into an empty store that knows of a secret.
func fillCopied(ctx context.Context, s *sqlitestore.Store) error {
	if err := s.AddSecret(ctx, store.Secret{Version: 1, Check: machine.Digest{1}}, 0); err != nil {
		return err
	}
	at := machine.InstantOf(time.Now())
	for done := 0; done < copied; done += 1000 {
		records := make([]*machine.Record, 1000)
		for i := range records {
			digest := copiedDigest(done + i)
			records[i] = &machine.Record{
				Scope: machine.Scope{Operation: "POST /orders", SecretVersion: 1, Digest: digest}, State: machine.Completed, Owner: digest,
				Attempt: 1, Revision: 2, Claimed: at, LeaseEnd: at.Add(time.Minute), Started: at, Finished: at,
				WindowEnd: at.Add(time.Hour), RememberUntil: at.Add(24 * time.Hour),
				Response: machine.NewResponse("http/1", make([]byte, 256)),
			}
		}
		if _, err := s.Import(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

func copiedDigest(i int) machine.Digest { return sha256.Sum256(fmt.Append(nil, i)) }

// copyFrom empties the store, and returns how many records a second are copied into it.
func (p *postgres) copyFrom(ctx context.Context, from store.Store) (float64, error) {
	if _, err := p.bare.pool.Exec(ctx, "TRUNCATE reprise.reprise_open, reprise.reprise_answered, reprise.reprise_secret"); err != nil {
		return 0, err
	}
	began := time.Now()
	done, err := movestore.Copy(ctx, from, p.store, movestore.CopyOptions{})
	if err == nil && done.Written != copied {
		err = fmt.Errorf("copied %d of %d", done.Written, copied)
	}
	return copied / time.Since(began).Seconds(), err
}

// copyBare is the limit.
func (p *postgres) copyBare(ctx context.Context) (float64, error) {
	const make = "DROP TABLE IF EXISTS bare_copy; CREATE TABLE bare_copy (LIKE reprise.reprise_answered INCLUDING ALL)"
	if _, err := p.bare.pool.Exec(ctx, make); err != nil {
		return 0, err
	}
	record, answer := [200]byte{}, [270]byte{}
	began := time.Now()
	for done := 0; done < copied; done += 500 {
		rows := pgx.CopyFromSlice(500, func(i int) ([]any, error) {
			d := copiedDigest(done + i)
			return []any{[16]byte(d[:16]), [16]byte(d[16:]), int64(1), int64(i), record[:], answer[:]}, nil
		})
		columns := []string{"head", "tail", "claimed_at", "forget_at", "record", "answer"}
		if _, err := p.bare.pool.CopyFrom(ctx, pgx.Identifier{"bare_copy"}, columns, rows); err != nil {
			return 0, err
		}
	}
	return copied / time.Since(began).Seconds(), nil
}
