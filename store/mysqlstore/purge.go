package mysqlstore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const (
	// purgeBatch is how many rows one transaction deletes.
	purgeBatch = 500
	// purgePause is for how many times as long as a batch took the purge pauses after it, if commands
	// were written meanwhile: they come first.
	purgePause = 19
)

// Purge implements [store.Purger]. It deletes in transactions of 500 rows, oldest first. A key that is held is
// left for the next time. What was deleted before an error stays deleted, and is counted.
func (s *Store) Purge(ctx context.Context, limit int) (deleted int, err error) {
	if err := store.PurgeLimit(limit); err != nil {
		return 0, err
	}
	for deleted < limit {
		size := min(purgeBatch, limit-deleted)
		gone, err := s.purgeOnce(ctx, size)
		if deleted += gone; err != nil || gone < size {
			return deleted, err
		}
	}
	return deleted, nil
}

func (s *Store) purgeOnce(ctx context.Context, size int) (gone int, err error) {
	written, started := s.writing.Load(), time.Now()
	err = s.errand(ctx, func(c *conn) error {
		return s.skipping(ctx, c, func() (err error) {
			gone, err = s.purgeOn(ctx, c, size)
			return err
		})
	})
	if err != nil || s.writing.Load() == written {
		return gone, sent(err)
	}
	pause := time.NewTimer(purgePause * time.Since(started))
	defer pause.Stop()
	select {
	case <-pause.C:
		return gone, nil
	case <-ctx.Done():
		return gone, store.Unavailable(context.Cause(ctx))
	}
}

func (s *Store) purgeOn(ctx context.Context, c *conn, size int) (gone int, err error) {
	var due []machine.Digest
	err = c.query(ctx, s.sql.start.with()+s.sql.due.with(size), nil, func(_ int, columns []driver.Value) error {
		digest, err := readDigest(columns[0])
		due = append(due, digest)
		return err
	})
	if err != nil || len(due) == 0 {
		s.letGo(ctx, c)
		return 0, unsent(ctx, err)
	}
	// One by one: to delete a list of keys the server may read the whole table, and meet what is held.
	var statements []byte
	for _, digest := range due {
		statements = s.sql.deleteText.append(statements, digest)
	}
	if _, err = c.exec(ctx, string(s.sql.commit.append(statements))); err != nil {
		s.letGo(ctx, c)
		return 0, err
	}
	return len(due), nil
}
