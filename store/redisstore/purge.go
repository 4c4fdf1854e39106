package redisstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Purge implements [store.Purger]. Finished records go by themselves. It scans for claims that were given up, and for
// records of another generation. To find that none is left takes a look at every key; a purge that reached its
// limit is gone on with by the next one of this process, unless a server was replaced. It pauses between steps: other
// commands come first. What was deleted before an error stays deleted, and is counted.
func (s *Store) Purge(ctx context.Context, limit int) (deleted int, err error) {
	if err := store.PurgeLimit(limit); err != nil {
		return 0, err
	}
	ctx, leave, err := s.enterForLong(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	deleted, err = s.purge(ctx, limit)
	return deleted, s.dialer.crowd.blame(err)
}

func (s *Store) purge(ctx context.Context, limit int) (deleted int, err error) {
	sc, err := s.newScan(ctx)
	if err != nil {
		return 0, err
	}
	from := s.purged.Swap(nil)
	whole := from == nil || sc.resume(*from) != nil
	if whole {
		sc.restart()
	}
	for {
		started := time.Now()
		n, err := s.purgeStep(ctx, &sc, limit-deleted)
		deleted += n
		switch {
		case err != nil || sc.done() && whole:
			return deleted, err
		case sc.done():
			whole = true
			sc.restart()
		}
		if deleted >= limit {
			at := sc.String()
			s.purged.Store(&at)
			return deleted, nil
		}
		if !pause(ctx, restFactor*time.Since(started)) {
			return deleted, store.Unavailable(context.Cause(ctx))
		}
	}
}

// purgeStep deletes what is due at a scan's place, which it leaves when nothing is left there.
func (s *Store) purgeStep(ctx context.Context, sc *scan, limit int) (int, error) {
	here, next, err := sc.look(ctx, scanStep)
	if err != nil {
		return 0, err
	}
	glances, err := s.glance(ctx, here.records, machine.Claimed)
	if err != nil {
		return 0, err
	}
	var due []func(context.Context) (bool, error)
	for i := range glances {
		if g := &glances[i]; g.there && !g.damaged && g.state() == machine.Absent {
			due = append(due, func(ctx context.Context) (bool, error) { return s.swap(ctx, g.target, g.found, nil) })
		}
	}
	for _, t := range here.void {
		due = append(due, func(ctx context.Context) (bool, error) { return s.drop(ctx, t) })
	}
	if len(due) <= limit {
		sc.advance(next)
	}
	due = due[:min(len(due), limit)]
	var deleted atomic.Int64
	err = each(ctx, len(due), func(ctx context.Context, i int) error {
		done, err := due[i](ctx)
		if done {
			deleted.Add(1)
		}
		return err
	})
	return int(deleted.Load()), err
}

// drop deletes a void record, and reports whether it was still there.
func (s *Store) drop(ctx context.Context, t target) (bool, error) {
	n, err := s.scripts.drop.Exec(ctx, s.client, t.keys, []string{string(t.generation[:])}).AsInt64()
	if err == nil && n == replyLost {
		return false, lostBucket(t.bucket)
	}
	return n == 1, sent(ctx, err)
}
