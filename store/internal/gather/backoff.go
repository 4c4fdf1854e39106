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

// NewLongBackoff returns one that begins with a tenth of a second and ends with another pause.
func NewLongBackoff(longest time.Duration) *Backoff {
	return &Backoff{next: longestNap, longest: longest}
}

// Reset begins again, with a tenth of a second.
func (b *Backoff) Reset() { b.next = longestNap }

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
