package meterredis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// gate remembers for a moment whether the gate is open, for those who ask before they do something in vain. The script asks for
// itself.
type gate struct {
	turn  chan struct{} // is full while somebody asks: who waits for that waits no longer than its context says
	asked time.Time
	err   error
}

// gateMemory is that moment.
const gateMemory = 250 * time.Millisecond

// GateOpen returns nil if the gate is open, by one of the buckets and at most a moment ago. Otherwise the error is a
// [*meter.Refusal], or says that Redis cannot be asked.
func (m *Meter) GateOpen(ctx context.Context) error {
	select {
	case m.gate.turn <- struct{}{}:
		defer func() { <-m.gate.turn }()
	case <-ctx.Done():
		return store.Unavailable(fmt.Errorf("ask for the gate: %w", context.Cause(ctx)))
	}
	if now := time.Now(); now.Sub(m.gate.asked) > gateMemory {
		err := m.askGate(ctx)
		if ctx.Err() != nil {
			return err // which says nothing of the gate
		}
		m.gate.asked, m.gate.err = now, err
	}
	return m.gate.err
}

func (m *Meter) askGate(ctx context.Context) error {
	key := m.names.policy("{0000}", meter.Gate)
	open, err := m.client.Do(ctx, m.client.B().Hget().Key(key).Field(fieldOpen).Build()).ToString()
	switch {
	case err != nil && !rueidis.IsRedisNil(err):
		return store.Unavailable(fmt.Errorf("ask for the gate: %w", err))
	case open != "yes":
		return &meter.Refusal{Reason: meter.GateClosed, Detail: "nothing is decided until the gate is open: see `reprise meter show`"}
	}
	return nil
}

// Opened reports whether the gate is open in a bucket.
func (m *Meter) Opened(ctx context.Context) bool { return m.askGate(ctx) == nil }

// Generation returns the one that all buckets have, empty if they do not have the same.
func (m *Meter) Generation() meter.Generation { return meter.Generation(m.store.CommonGeneration()) }

// Reread asks Redis for the generations of all buckets, and returns the one that all of them have, empty if they do not have the
// same.
func (m *Meter) Reread(ctx context.Context) (meter.Generation, error) {
	err := m.store.Reread(ctx)
	return m.Generation(), err
}
