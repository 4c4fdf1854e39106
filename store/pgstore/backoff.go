package pgstore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	shortestNap = time.Millisecond
	longestNap  = 100 * time.Millisecond
)

// backoff spaces out tries, at random so that processes do not meet again.
type backoff struct{ next, longest time.Duration }

func newBackoff() *backoff { return &backoff{next: shortestNap, longest: longestNap} }

// sleep pauses before the next try. It is false when the context has ended.
func (b *backoff) sleep(ctx context.Context) bool {
	pause := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, b.longest)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
