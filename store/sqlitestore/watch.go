package sqlitestore

import (
	"context"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// watchers are those who wait for a record to change. They learn of commits of this handle; what other
// processes commit they find when they ask again.
type watchers struct {
	mu      sync.Mutex
	waiting map[machine.Digest][]chan struct{}
}

// Watch implements [store.Watcher]. Changes that other processes make are missed.
func (s *Store) Watch(scope machine.Scope, revision uint64) (<-chan struct{}, func()) {
	changed := make(chan struct{})
	s.watchers.add(scope.Digest, changed)
	// The record may have changed before the watch began.
	record, err := s.peek(context.Background(), scope.Digest)
	if err != nil || record == nil || record.Revision != revision {
		s.watchers.wake([]machine.Digest{scope.Digest})
	}
	return changed, func() { s.watchers.remove(scope.Digest, changed) }
}

func (w *watchers) add(digest machine.Digest, changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = map[machine.Digest][]chan struct{}{}
	}
	w.waiting[digest] = append(w.waiting[digest], changed)
}

func (w *watchers) remove(digest machine.Digest, changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := slices.DeleteFunc(w.waiting[digest], func(c chan struct{}) bool { return c == changed })
	if w.waiting[digest] = left; len(left) == 0 {
		delete(w.waiting, digest)
	}
}

// wake ends the watches of records that have changed.
func (w *watchers) wake(digests []machine.Digest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return
	}
	for _, digest := range digests {
		for _, changed := range w.waiting[digest] {
			close(changed)
		}
		delete(w.waiting, digest)
	}
}
