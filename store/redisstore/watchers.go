package redisstore

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reprise-dev/reprise/machine"
)

// watchers are those who wait for a record to change.
type watchers struct {
	some    atomic.Bool // whether there are any: a command that changes a record asks nothing else
	mu      sync.Mutex
	waiting map[machine.Digest][]*watch
	fresh   map[machine.Digest]bool // not attended to yet
	started bool
	call    chan struct{} // has room for the one signal that there are fresh ones
}

// watch is one who waits.
type watch struct {
	revision uint64
	changed  chan struct{}
}

// add reports whether this is the first watch of all.
func (w *watchers) add(digest machine.Digest, one *watch) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first = !w.started; first {
		w.started, w.call = true, make(chan struct{}, 1)
		w.waiting, w.fresh = map[machine.Digest][]*watch{}, map[machine.Digest]bool{}
	}
	w.some.Store(true)
	w.waiting[digest] = append(w.waiting[digest], one)
	w.fresh[digest] = true
	w.signal()
	return first
}

func (w *watchers) signal() {
	select {
	case w.call <- struct{}{}:
	default:
	}
}

// refresh makes all be attended to again.
func (w *watchers) refresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for digest := range w.waiting {
		w.fresh[digest] = true
	}
	w.signal()
}

// take returns the records to attend to.
func (w *watchers) take() (fresh []machine.Digest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for digest := range w.fresh {
		if len(w.waiting[digest]) > 0 {
			fresh = append(fresh, digest)
		}
	}
	clear(w.fresh)
	return fresh
}

func (w *watchers) remove(digest machine.Digest, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(digest, func(other *watch) bool { return other != one })
}

// wake ends the watches of a record that has changed.
func (w *watchers) wake(digest machine.Digest) {
	if w.some.Load() {
		w.end(digest, func(*watch) bool { return true })
	}
}

// found ends those watches of a record that wait for another revision than it has; 0 is that of none.
func (w *watchers) found(digest machine.Digest, revision uint64) {
	w.end(digest, func(one *watch) bool { return revision == 0 || one.revision != revision })
}

func (w *watchers) end(digest machine.Digest, changed func(*watch) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(digest, func(one *watch) bool {
		if changed(one) {
			close(one.changed)
			return false
		}
		return true
	})
}

// keep keeps those watches of a record that are to be kept.
func (w *watchers) keep(digest machine.Digest, kept func(*watch) bool) {
	left := slices.DeleteFunc(w.waiting[digest], func(one *watch) bool { return !kept(one) })
	if w.waiting[digest] = left; len(left) == 0 {
		delete(w.waiting, digest)
	}
	w.some.Store(len(w.waiting) > 0)
}
