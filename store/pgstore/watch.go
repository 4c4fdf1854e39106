package pgstore

import (
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// watchers are those who wait for a record to change. Changes of this process wake them directly. For
// those of others their records are marked, and whoever ends a marked record notifies (listen.go).
type watchers struct {
	mu      sync.Mutex
	waiting map[machine.Digest][]*watch
	fresh   []*watch // not attended to yet
	started bool
	call    chan struct{} // has room for the one signal that there are fresh ones
}

// watch is one who waits.
type watch struct {
	digest   machine.Digest
	revision uint64
	changed  chan struct{}
}

// Watch implements [store.Watcher]. Changes that other processes make to a record that is claimed or
// executing are told by the server, except behind a PgBouncer; other changes of theirs are missed.
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
	if s.closed {
		return
	}
	s.helpers.Go(func() { s.attendAll(s.life) })
	if !s.address.bouncer {
		s.helpers.Go(func() { s.listen(s.life) })
	}
}

// attendAll marks the records of those who begin to wait, and wakes them if their records have changed
// already.
func (s *Store) attendAll(ctx context.Context) {
	for {
		select {
		case <-s.watchers.call:
		case <-ctx.Done():
			return
		}
		for fresh := s.watchers.take(); len(fresh) > 0; {
			some := fresh[:min(len(fresh), s.options.GroupLimit)]
			if s.attendSome(ctx, some) != nil {
				break // who waits asks again after a time of its own
			}
			fresh = fresh[len(some):]
		}
	}
}

func (s *Store) attendSome(ctx context.Context, fresh []*watch) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, gather.ErrSilent)
	defer cancel()
	return s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if !s.address.bouncer {
			if err := s.mark(ctx, conn, fresh); err != nil {
				return err
			}
		}
		jobs := make([]*gather.Job[look], len(fresh))
		for i, w := range fresh {
			jobs[i] = &gather.Job[look]{Work: &look{digest: w.digest}}
		}
		if err := s.lookUpOn(ctx, conn, jobs); err != nil {
			return err
		}
		for i, w := range fresh {
			record, err := jobs[i].Work.record()
			if err != nil || record == nil || record.Revision != w.revision {
				s.watchers.wake(w.digest)
			}
		}
		return nil
	})
}

func (s *Store) mark(ctx context.Context, conn *pgx.Conn, fresh []*watch) error {
	var heads, tails pgtype.FlatArray[pgtype.UUID]
	var locks pgtype.FlatArray[int64]
	for _, w := range fresh {
		heads, tails, locks = append(heads, head(w.digest)), append(tails, tail(w.digest)), append(locks, lockOf(w.digest))
	}
	_, err := conn.Exec(ctx, s.sql.awaitEnd, heads, tails, locks)
	return err
}

// add reports whether this is the first watch of all.
func (w *watchers) add(one *watch) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first = !w.started; first {
		w.started, w.waiting, w.call = true, map[machine.Digest][]*watch{}, make(chan struct{}, 1)
	}
	w.waiting[one.digest] = append(w.waiting[one.digest], one)
	w.fresh = append(w.fresh, one)
	select {
	case w.call <- struct{}{}:
	default:
	}
	return first
}

func (w *watchers) take() []*watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := w.fresh
	w.fresh = nil
	return fresh
}

func (w *watchers) remove(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	same := func(other *watch) bool { return other == one }
	w.fresh = slices.DeleteFunc(w.fresh, same)
	left := slices.DeleteFunc(w.waiting[one.digest], same)
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

// wakeAll ends all watches: nobody knows what has changed.
func (w *watchers) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.waiting {
		for _, one := range all {
			close(one.changed)
		}
	}
	clear(w.waiting)
}
