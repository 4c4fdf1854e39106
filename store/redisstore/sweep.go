package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// An execution whose lease runs out is not told of: its key stays as it is. The sweep finds it by a scan of all
// records, and adds it to the index. Every process that has a store open does it from time to time, one of them at a
// time.

const (
	// sweepEvery is how old a sweep is when the next one begins.
	sweepEvery = time.Minute
	// sweepTurn is for how long a process that stopped in the middle keeps the others from it.
	sweepTurn = time.Minute
	// sweepAtOnce is how many keys there are at most where a listing of abandoned records sweeps first.
	sweepAtOnce = 10_000
	// restFactor is for how many times as long as a step of a sweep or a purge took it pauses after it.
	restFactor = 4
)

// keepSweeping runs until ctx ends.
func (s *Store) keepSweeping(ctx context.Context, every time.Duration) {
	for pause(ctx, every/2+rand.N(every)) {
		if !s.takeTurn(ctx, every) {
			continue
		}
		// One that fails is begun again by whoever comes first: the time of the last complete one says so.
		_ = s.sweep(ctx, func(took time.Duration) bool { return s.keepTurn(ctx) && pause(ctx, restFactor*took) })
		s.client.Do(ctx, s.client.B().Del().Key(s.names.sweeping()).Build()) // or it ends by itself
	}
}

// takeTurn reports whether a sweep is due, and nobody else is at it.
func (s *Store) takeTurn(ctx context.Context, every time.Duration) bool {
	last, err := s.lastSweep(ctx)
	now, failure := s.now(ctx)
	if err != nil || failure != nil || now.Sub(last) < every {
		return false
	}
	return s.client.Do(ctx, s.client.B().Set().Key(s.names.sweeping()).Value("").Nx().Px(sweepTurn).Build()).Error() == nil
}

// keepTurn reports whether the server could be told that the sweep goes on.
func (s *Store) keepTurn(ctx context.Context) bool {
	return s.client.Do(ctx, s.client.B().Set().Key(s.names.sweeping()).Value("").Px(sweepTurn).Build()).Error() == nil
}

// lastSweep returns when the last complete sweep began, zero if there was none.
func (s *Store) lastSweep(ctx context.Context) (machine.Instant, error) {
	ms, err := s.client.Do(ctx, s.client.B().Get().Key(s.names.swept()).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return s.instant(ms), unread(ctx, err)
}

// sweptBy returns when the last complete sweep began, and whether that was right now: where there are few keys.
func (s *Store) sweptBy(ctx context.Context) (last machine.Instant, now bool, err error) {
	keys, err := s.keys(ctx)
	if err == nil && keys <= sweepAtOnce {
		err = s.sweep(ctx, func(time.Duration) bool { return true })
		now = err == nil
	}
	if errors.Is(err, store.ErrLost) || ctx.Err() != nil {
		return 0, false, err
	}
	last, err = s.lastSweep(ctx) // where a sweep fails, the page is partial
	return last, now, err
}

// keys is how many keys the servers have, of whomever.
func (s *Store) keys(ctx context.Context) (total int64, err error) {
	nodes, err := s.primaries(ctx)
	for _, n := range nodes {
		size, err := n.client.Do(ctx, n.client.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return 0, unread(ctx, err)
		}
		total += size
	}
	return total, err
}

// sweep adds all executions that were interrupted to the index. Between its steps it rests, and ends when rest
// returns false.
func (s *Store) sweep(ctx context.Context, rest func(took time.Duration) bool) error {
	begun, err := s.now(ctx)
	if err != nil {
		return err
	}
	sc, err := s.newScan(ctx)
	for err == nil && !sc.done() {
		started := time.Now()
		if err = s.sweepStep(ctx, &sc); err == nil && !rest(time.Since(started)) {
			err = store.Unavailable(errors.New("the sweep was ended"))
		}
	}
	if err == nil {
		err = sc.unchanged(ctx)
	}
	if err != nil {
		return err
	}
	at := strconv.FormatInt(s.milliseconds(begun), 10)
	return sent(ctx, s.client.Do(ctx, s.client.B().Set().Key(s.names.swept()).Value(at).Build()).Error())
}

func (s *Store) sweepStep(ctx context.Context, sc *scan) error {
	digests, next, err := sc.peek(ctx, scanStep)
	if err != nil {
		return err
	}
	glances, err := s.glance(ctx, digests, machine.Executing)
	if err != nil {
		return err
	}
	sc.advance(next)
	return each(ctx, len(glances), func(ctx context.Context, i int) error {
		g := &glances[i]
		if g.damaged || g.state() != machine.Abandoned {
			return nil
		}
		_, err := s.index(ctx, g.target, g.found, addToIndex)
		return err
	})
}

// pause returns after d, or false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
