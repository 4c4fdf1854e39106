package redisstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// A server that was refused is what is behind an error for as long as it is in the way: not after another one was accepted in its place,
// nor after it has gone.
func TestWhoWasRefusedIsNotBlamedForGood(t *testing.T) {
	t.Parallel()
	unreachable, here := errors.New("nobody listens there"), Identity{"process", "history"}
	for name, c := range map[string]struct {
		cluster bool
		then    func(ctx context.Context, c *crowd)
		blamed  bool
	}{
		"nothing else happened": {false, func(context.Context, *crowd) {}, true},
		"there is another primary": {false, func(_ context.Context, c *crowd) {
			c.watch(nil, "10.0.0.2:6379", Identity{"another", "history"})
		}, false},
		"another node of the cluster was accepted": {true, func(_ context.Context, c *crowd) {
			c.watch(nil, "10.0.0.2:6379", Identity{"another", "history"})
		}, true},
		"it was accepted": {true, func(_ context.Context, c *crowd) { c.watch(nil, "10.0.0.1:6379", here) }, false},
		"it is there": {true, func(ctx context.Context, c *crowd) {
			c.look(ctx, func(context.Context, string) (member, error) { return member{Identity: here}, nil })
		}, true},
		"it has gone": {true, func(ctx context.Context, c *crowd) {
			c.look(ctx, func(context.Context, string) (member, error) { return member{}, unreachable })
		}, false},
		"it is a replica": {true, func(ctx context.Context, c *crowd) {
			c.look(ctx, func(context.Context, string) (member, error) { return member{Identity: here, replica: true}, nil })
		}, false},
		"there was no time to ask": {true, func(ctx context.Context, c *crowd) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			c.look(ctx, func(ctx context.Context, _ string) (member, error) { return member{}, ctx.Err() })
		}, true},
	} {
		crowd := newCrowd(c.cluster)
		crowd.refuse(&suspect{"10.0.0.1:6379", here, errors.New("it was not seen as a replica")})
		c.then(t.Context(), crowd)
		err := store.Unavailable(errors.New("maxmemory"))
		if blamed := errors.Is(crowd.blame(err), store.ErrLost); blamed != c.blamed {
			t.Errorf("%s: blamed %v", name, blamed)
		}
	}
}

// All servers are asked at once: one that hangs keeps nobody from finding out what became of the others.
func TestServersAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	c := newCrowd(true)
	one, other := c.watch(nil, "10.0.0.1:6379", Identity{"one", "history"}), c.watch(nil, "10.0.0.2:6379", Identity{"other", "history"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // for a failure
	defer cancel()
	var asked sync.WaitGroup
	asked.Add(2)
	c.look(ctx, func(ctx context.Context, _ string) (member, error) {
		asked.Done()
		all := make(chan struct{})
		go func() { asked.Wait(); close(all) }()
		select {
		case <-all:
			return member{Identity: Identity{"another", "history"}}, nil
		case <-ctx.Done():
			return member{}, ctx.Err()
		}
	})
	if !one.stale.Load() || !other.stale.Load() {
		t.Error("they were asked one after the other")
	}
}
