package redisstore

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// Changes of this process wake those who wait for them directly. For those of others the record is marked, in its
// first byte: the script that changes it sees the mark in what it has read anyway, and publishes the record's digest.
// So nothing is told where nobody waits, and finding that out costs nothing. The channel is one for the
// whole store, and a process listens to it from its first watch on: a subscription does not depend on where slots
// are.

const (
	// attendAgain is how often the records of those who wait are looked at, whatever is told.
	attendAgain = 5 * time.Second
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
	ticker := time.NewTicker(attendAgain)
	defer ticker.Stop()
	for {
		select {
		case <-s.watchers.call:
		case <-ticker.C:
			s.watchers.refresh()
		case <-ctx.Done():
			return
		}
		fresh := s.watchers.take()
		_ = each(ctx, len(fresh), func(ctx context.Context, i int) error {
			s.attendTo(ctx, fresh[i]) // who is not served asks again after a time of his own
			return nil
		})
	}
}

// attendTo marks a record and looks at it in one step: a change after the look is told.
func (s *Store) attendTo(ctx context.Context, digest machine.Digest) {
	head, err := s.scripts.watch.Exec(ctx, s.client, newTarget(s, digest).keys[:1], []string{longestHead}).ToString()
	if err == nil {
		s.watchers.found(digest, revisionOf([]byte(head)))
	}
}

// longestHead is how long the head of a record can be, as scripts take it: form and state, flags, an attempt, a revision,
// an owner, a nonce, an operation and the random bytes.
const longestHead = "88"

// revisionOf reads the revision of a record; 0 is that of none.
func revisionOf(head []byte) uint64 {
	if !readable(formOf(head)) {
		return 0
	}
	d := decoder{rest: head, r: &machine.Record{}}
	if d.head(); d.failed {
		return 0
	}
	return d.r.Revision
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
		s.listenOnce(heard)
		if !pause(ctx, relisten) {
			return
		}
	}
}

// listenOnce listens to one of the primaries until it is cut off. What is published anywhere in a cluster is told
// everywhere. The connection is its own: Redis tells a subscriber what it publishes itself in the middle of the reply to
// the transaction that did, and takes that apart.
func (s *Store) listenOnce(ctx context.Context) {
	n, err := s.anyPrimary(ctx)
	if err != nil {
		return
	}
	_ = n.client.Dedicated(func(own rueidis.DedicatedClient) error {
		subscribe := own.B().Subscribe().Channel(s.names.changes()).Build()
		return own.Receive(ctx, subscribe, func(told rueidis.PubSubMessage) {
			if digest := []byte(told.Message); len(digest) == len(machine.Digest{}) {
				s.watchers.wake(machine.Digest(digest))
			}
		})
	})
}
