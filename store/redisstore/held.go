package redisstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// A held answer is kept in a form of its own: its key lives for the nominal life, as if it were unfinished, and its first
// byte says so. Whoever reads it finds an answer that was finished just now. Releasing it changes that byte and gives the key
// its real life: from then on it is an answer like any other, which was finished when it was released.

// stay moves the end of a held answer to now.
func stay(r *machine.Record, now machine.Instant) {
	shift(now-r.Finished, &r.WindowEnd, &r.RememberUntil, &r.Finished)
}

// releaseChunk is how many records one script releases.
const releaseChunk = 500

// Release lets the answers of a held effect expire. They are remembered for as long as their invocations said, which is the
// same for all of them, from now on. Answers that are not held, or not there, are left as they are. It returns how many were
// released. After an error some may have been: releasing them again is harmless.
func (s *Store) Release(ctx context.Context, digests []machine.Digest, remember time.Duration) (released int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	since, buckets := s.server(), map[int][]target{}
	for _, digest := range digests {
		t := newTarget(s, digest)
		buckets[t.bucket] = append(buckets[t.bucket], t)
	}
	for b, targets := range buckets {
		for len(targets) > 0 {
			n := min(len(targets), releaseChunk)
			count, err := s.releaseIn(ctx, b, targets[:n], livesOn(remember))
			released += count
			if err != nil {
				return released, s.notice(ctx, b, err)
			}
			targets = targets[n:]
		}
	}
	touched := slices.Collect(maps.Keys(buckets))
	return released, each(ctx, len(touched), func(ctx context.Context, i int) error {
		return s.notice(ctx, touched[i], s.confirm(ctx, touched[i], since, nil))
	})
}

func (s *Store) releaseIn(ctx context.Context, b int, targets []target, life int64) (int, error) {
	keys := []string{targets[0].keys[1]}
	for _, t := range targets {
		keys = append(keys, t.keys[0])
	}
	n, err := s.scripts.release.Exec(ctx, s.client, keys, []string{string(targets[0].generation[:]), strconv.FormatInt(life, 10)}).AsInt64()
	if err == nil && n == replyLost {
		return 0, lostBucket(b)
	}
	return int(max(0, n)), sent(ctx, err)
}
