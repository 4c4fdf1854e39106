package mysqlstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// The server tells nobody of changes, so the records of those who wait are looked at, all of a process
// together: soon after somebody has begun to wait, and then less and less often.
const (
	shortestGlance = 5 * time.Millisecond
	longestGlance  = 200 * time.Millisecond
)

// watchers are those who wait for a record to change. Changes of this process wake them directly.
type watchers struct {
	mu      sync.Mutex
	waiting map[machine.Digest][]*watch
	started bool
	call    chan struct{} // has room for the one signal that somebody has begun to wait
}

// watch is one who waits.
type watch struct {
	digest   machine.Digest
	revision uint64
	changed  chan struct{}
}

// Watch implements [store.Watcher]. Changes that other processes make are found by asking, within a fifth of
// a second.
func (s *Store) Watch(scope machine.Scope, revision uint64) (<-chan struct{}, func()) {
	w := &watch{digest: scope.Digest, revision: revision, changed: make(chan struct{})}
	if s.watchers.add(w) {
		s.attend()
	}
	return w.changed, func() { s.watchers.remove(w) }
}

// attend starts what serves the watchers, if the store is not being closed.
func (s *Store) attend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.helpers.Go(func() { s.attendAll(s.life) })
	}
}

// attendAll looks at the records of those who wait.
func (s *Store) attendAll(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	next := shortestGlance
	for {
		select {
		case <-s.watchers.call:
			next = shortestGlance
		case <-pause.C:
			next = min(2*next, longestGlance)
		case <-ctx.Done():
			return
		}
		for some := range slices.Chunk(s.watchers.all(), s.options.GroupLimit) {
			if s.attendSome(ctx, some) != nil {
				break // who waits asks again after a time of its own
			}
		}
		if s.watchers.any() {
			pause.Reset(next)
		}
	}
}

func (s *Store) attendSome(ctx context.Context, some []*watch) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	keys := make([]machine.Digest, len(some))
	for i, w := range some {
		keys[i] = w.digest
	}
	var found map[machine.Digest]*form.Row
	err := s.errand(ctx, func(c *conn) (err error) {
		found, _, err = s.lookAt(ctx, c, keys)
		return err
	})
	if err != nil {
		return err
	}
	for _, w := range some {
		row := found[w.digest]
		if row == nil {
			s.watchers.wake(w.digest)
			continue
		}
		if r, err := form.Unpack(w.digest, *row); err != nil || r.Revision != w.revision {
			s.watchers.wake(w.digest)
		}
	}
	return nil
}

// add reports whether this is the first watch of all.
func (w *watchers) add(one *watch) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first = !w.started; first {
		w.started, w.waiting, w.call = true, map[machine.Digest][]*watch{}, make(chan struct{}, 1)
	}
	w.waiting[one.digest] = append(w.waiting[one.digest], one)
	select {
	case w.call <- struct{}{}:
	default:
	}
	return first
}

func (w *watchers) all() (all []*watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, some := range w.waiting {
		all = append(all, some...)
	}
	return all
}

func (w *watchers) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0
}

func (w *watchers) remove(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := slices.DeleteFunc(w.waiting[one.digest], func(other *watch) bool { return other == one })
	if w.waiting[one.digest] = left; len(left) == 0 {
		delete(w.waiting, one.digest)
	}
}

// wake ends the watches of a record that has changed.
func (w *watchers) wake(digest machine.Digest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.waiting[digest] {
		close(one.changed)
	}
	delete(w.waiting, digest)
}
