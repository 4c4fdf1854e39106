// Package memstore keeps records in the memory of one process.
//
// It is the reference: [machine.Step] under a lock. It is for tests, for examples, and for work that
// is allowed to be forgotten when the process ends.
package memstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const shardCount = 64

var errClosed = errors.New("the store is closed")

// Store is a [store.Store] in memory. Make one with [New].
type Store struct {
	now     func() time.Time
	shards  [shardCount]shard
	secrets secrets

	mu     sync.RWMutex
	closed bool
}

type shard struct {
	mu       sync.Mutex
	records  map[machine.Digest]*machine.Record
	watchers map[machine.Digest][]chan struct{}
	_        [64]byte // keeps the locks of two shards off one cache line
}

// New returns an empty store. now is its clock; nil is [time.Now].
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	s := &Store{now: now}
	for i := range s.shards {
		s.shards[i].records = map[machine.Digest]*machine.Record{}
		s.shards[i].watchers = map[machine.Digest][]chan struct{}{}
	}
	return s
}

func (s *Store) shard(d machine.Digest) *shard { return &s.shards[d[0]%shardCount] }

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	if err := s.usable(ctx); err != nil {
		return machine.Reply{}, err
	}
	digest := command.Target().Digest
	shard := s.shard(digest)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	record := shard.records[digest]
	next, reply := machine.Step(record, command, s.now())
	if next == record {
		return reply, nil
	}
	if next == nil {
		delete(shard.records, digest)
	} else {
		shard.records[digest] = next
	}
	shard.wake(digest)
	return reply, nil
}

func (s *Store) usable(ctx context.Context) error {
	if err := store.NotSent(ctx); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.Unavailable(errClosed)
	}
	return nil
}

// Close implements [store.Store]. The records are gone.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *shard) wake(digest machine.Digest) {
	if len(s.watchers) == 0 {
		return
	}
	for _, changed := range s.watchers[digest] {
		close(changed)
	}
	delete(s.watchers, digest)
}

// Watch implements [store.Watcher].
func (s *Store) Watch(scope machine.Scope, revision uint64) (<-chan struct{}, func()) {
	shard := s.shard(scope.Digest)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	changed := make(chan struct{})
	if r := shard.records[scope.Digest]; r == nil || r.Revision != revision {
		close(changed)
		return changed, func() {}
	}
	shard.watchers[scope.Digest] = append(shard.watchers[scope.Digest], changed)
	return changed, func() { shard.unwatch(scope.Digest, changed) }
}

func (s *shard) unwatch(digest machine.Digest, changed chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.watchers[digest]
	for i := range waiting {
		if waiting[i] == changed {
			waiting = append(waiting[:i], waiting[i+1:]...)
			break
		}
	}
	if s.watchers[digest] = waiting; len(waiting) == 0 {
		delete(s.watchers, digest)
	}
}
