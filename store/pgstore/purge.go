package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/store"
)

const (
	// purgeBatch is how many rows one transaction deletes.
	purgeBatch = 500
	// purgePause is for how many times as long as a batch took the purge pauses after it, if commands
	// were written meanwhile: they come first.
	purgePause = 19
)

// Purge implements [store.Purger]. It deletes in transactions of 500 rows. A key that is held is left for
// the next time. What was deleted before an error stays deleted, and is counted.
func (s *Store) Purge(ctx context.Context, limit int) (deleted int, err error) {
	if err := store.PurgeLimit(limit); err != nil {
		return 0, err
	}
	for _, sql := range []string{s.sql.purgeOpen, s.sql.purgeAnswered} {
		for more := true; more && deleted < limit; {
			size := min(purgeBatch, limit-deleted)
			due, gone, err := s.purgeOnce(ctx, sql, size)
			if deleted += gone; err != nil {
				return deleted, err
			}
			more = due == size && gone > 0 // else all that is due is held
		}
	}
	return deleted, nil
}

func (s *Store) purgeOnce(ctx context.Context, sql string, size int) (due, gone int, err error) {
	written, started := s.writing.Load(), time.Now()
	err = s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, sql, size).Scan(&due, &gone)
	})
	if err != nil || s.writing.Load() == written {
		return due, gone, sent(err)
	}
	pause := time.NewTimer(purgePause * time.Since(started))
	defer pause.Stop()
	select {
	case <-pause.C:
		return due, gone, nil
	case <-ctx.Done():
		return due, gone, store.Unavailable(context.Cause(ctx))
	}
}
