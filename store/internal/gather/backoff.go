package gather

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	shortestNap = time.Millisecond
	longestNap  = 100 * time.Millisecond
)

// Backoff spaces out tries, at random so that processes do not meet again.
type Backoff struct{ next, longest time.Duration }

// NewBackoff returns one that begins with a millisecond and ends with a tenth of a second.
func NewBackoff() *Backoff { return &Backoff{next: shortestNap, longest: longestNap} }

// Sleep pauses before the next try. It is false when the context has ended.
func (b *Backoff) Sleep(ctx context.Context) bool {
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
