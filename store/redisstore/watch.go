package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// Changes of this process wake those who wait for them directly. For those of others there is a key beside the
// record while somebody waits, which names the channel to tell; whoever changes the record reads it in the same
// step. So nothing is told where nobody waits. The channel is one for the whole store, and a process listens
// to it from its first watch on: a subscription does not depend on where slots are.

const (
	// awaitedFor is how long the key is there. It is written again while somebody waits.
	awaitedFor   = 15 * time.Second
	awaitedAgain = 5 * time.Second
	// attendChunk is how many records are looked at at once.
	attendChunk = 128
	// relisten is the pause before a subscription that ended is made again.
	relisten = time.Second
)

// Watch implements [store.Watcher]. A change that is made while the connection to the server is lost wakes when it is
// there again.
func (s *Store) Watch(scope machine.Scope, revision uint64) (<-chan struct{}, func()) {
	w := &watch{revision: revision, changed: make(chan struct{})}
	if s.watchers.add(scope.Digest, w) {
		s.attend()
	}
	return w.changed, func() { s.watchers.remove(scope.Digest, w) }
}

// attend starts what serves the watchers, if the store is not being closed.
func (s *Store) attend() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	s.helpers.Go(func() { s.attendAll(s.life) })
	s.helpers.Go(func() { s.listen(s.life) })
}

// attendAll announces those who wait, and wakes them if their records have changed already.
func (s *Store) attendAll(ctx context.Context) {
	ticker := time.NewTicker(awaitedAgain)
	defer ticker.Stop()
	for {
		select {
		case <-s.watchers.call:
		case <-ticker.C:
			s.watchers.refresh()
		case <-ctx.Done():
			return
		}
		for some := range slices.Chunk(s.watchers.take(), attendChunk) {
			s.attendSome(ctx, some) // who is not served asks again after a time of his own
		}
	}
}

// attendSome announces first and looks then: a change after the look is told.
func (s *Store) attendSome(ctx context.Context, digests []machine.Digest) {
	var commands rueidis.Commands
	for _, digest := range digests {
		commands = append(commands,
			s.client.B().Set().Key(s.names.awaited(digest)).Value(s.names.changes()).Px(awaitedFor).Build(),
			s.client.B().Getrange().Key(s.names.record(digest)).Start(0).End(longestHead-1).Build())
	}
	for i, result := range s.client.DoMulti(ctx, commands...) {
		if i%2 == 0 {
			continue
		}
		digest := digests[i/2]
		if head, err := result.ToString(); err == nil {
			s.watchers.found(digest, revisionOf([]byte(head), s.generation(bucketOf(digest))))
		}
	}
}

// longestHead is how long the head of a record can be.
const longestHead int64 = 2 + tagSize + int64(len(machine.Digest{})+len(machine.Nonce{})) + 5 + 10

// revisionOf reads the revision of a record of the generation; 0 is that of none.
func revisionOf(head []byte, g machine.Generation) uint64 {
	var r machine.Record
	d := decoder{rest: head}
	if d.byte() != form || !tagged(head, g) {
		return 0
	}
	if d.head(&r); d.failed {
		return 0
	}
	return r.Revision
}

// listen hears what other processes tell. Whoever waits is attended to again when it begins to hear: something
// may have been missed.
func (s *Store) listen(ctx context.Context) {
	heard := rueidis.WithOnSubscriptionHook(ctx, func(e rueidis.PubSubSubscription) {
		if e.Kind == "subscribe" {
			s.watchers.refresh()
		}
	})
	for {
		subscribe := s.client.B().Subscribe().Channel(s.names.changes()).Build()
		_ = s.client.Receive(heard, subscribe, func(told rueidis.PubSubMessage) { // until it is cut off
			if digest := []byte(told.Message); len(digest) == len(machine.Digest{}) {
				s.watchers.wake(machine.Digest(digest))
			}
		})
		if !pause(ctx, relisten) {
			return
		}
	}
}
