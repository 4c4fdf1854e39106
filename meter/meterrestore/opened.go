package meterrestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// opened is the meter that is open, if one is. A Redis that was emptied is opened again when it has a generation.
type opened struct {
	mu    sync.Mutex
	meter *meterredis.Meter
}

// errNeverMade says that no meter was ever in this Redis, or that it lost everything.
var errNeverMade = errors.New("there is no meter in this Redis")

// meter returns the one that is open, or opens it.
func (p *Plan) meter(ctx context.Context) (*meterredis.Meter, error) {
	p.opened.mu.Lock()
	defer p.opened.mu.Unlock()
	if p.opened.meter != nil {
		return p.opened.meter, nil
	}
	m, err := meterredis.Open(ctx, p.Redis, meterredis.Options{Calendar: p.Calendar, Horizon: p.Horizon}, p.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errNeverMade, err)
	}
	if err == nil {
		p.opened.meter = m
	}
	return m, err
}

// meterOf returns the meter of a fence's generation.
func (p *Plan) meterOf(ctx context.Context, fence restore.Fence) (*meterredis.Meter, error) {
	m, err := p.meter(ctx)
	if lost(err) {
		return nil, fmt.Errorf("%w: %w", restore.ErrFenced, err)
	}
	if err != nil {
		return nil, err
	}
	if m.Generation() == meter.Generation(fence.Generation) {
		return m, nil
	}
	g, err := m.Reread(ctx)
	switch {
	case err != nil && !errors.Is(err, store.ErrLost):
		return nil, err
	case g != meter.Generation(fence.Generation):
		return nil, fmt.Errorf("%w: Redis has generation %q, and not %q", restore.ErrFenced, g, fence.Generation)
	}
	return m, nil
}

// forget closes the meter, so that the next one who needs it opens it again.
func (p *Plan) forget() {
	p.opened.mu.Lock()
	defer p.opened.mu.Unlock()
	if p.opened.meter != nil {
		_ = p.opened.meter.Close() // which changes nothing
		p.opened.meter = nil
	}
}

// Close closes what is open.
func (p *Plan) Close() { p.forget() }

// sortedTags are the names of units, in order.
func sortedTags(units []meterredis.Members) (tags []string) {
	for _, u := range units {
		tags = append(tags, tagOf(u))
	}
	slices.Sort(tags)
	return tags
}
