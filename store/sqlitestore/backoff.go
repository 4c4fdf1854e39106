package sqlitestore

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff waits for another process's lock in short naps. SQLite's own wait naps up to 100 ms, while a
// group holds the lock for a few: a process would be passed over again and again.
type backoff struct{ next time.Duration }

const (
	shortestNap = 100 * time.Microsecond
	longestNap  = 2 * time.Millisecond
)

func newBackoff() *backoff { return &backoff{next: shortestNap} }

// sleep naps and reports whether the context still holds.
func (b *backoff) sleep(ctx context.Context) bool {
	nap := b.next/2 + rand.N(b.next)
	b.next = min(b.next*5/4, longestNap)
	timer := time.NewTimer(nap)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
