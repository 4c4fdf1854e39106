package redisstore

import (
	"context"
	"slices"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const (
	// pagePlaces is how many places of the servers' tables one page looks at.
	pagePlaces = 20 * scanStep
	// pageBytes is how large the records of a page are together, unless a single one is larger.
	pageBytes = 16 << 20
)

// List implements [store.Lister]. A filter that asks for abandoned records alone reads the indexes of them: its
// pages are in the order of the digests, have all that was written as abandoned, and say how old the sweep is that
// looked for interrupted executions.
//
// For every other filter the servers' keys are scanned, in no order, some at a time. Such a listing is partial: a
// record that is there all the time is listed, and once, as long as no slot moves to another server and no table
// shrinks meanwhile. Its cursor ends with the server that gave it.
//
// While a bucket has lost its data nothing is listed: the error is [store.ErrLost].
func (s *Store) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if err := store.PageLimit(limit); err != nil {
		return store.Page{}, err
	}
	ctx, leave, err := s.enterForLong(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer leave()
	l := &listing{store: s, filter: filter, limit: limit}
	if onlyAbandoned(filter) {
		err = l.abandoned(ctx, cursor)
	} else {
		err = l.scanned(ctx, cursor, pagePlaces)
	}
	if err == nil {
		err = l.fill(ctx)
	}
	if err != nil {
		return store.Page{}, s.dialer.crowd.blame(err)
	}
	return l.page, nil
}

func onlyAbandoned(filter store.Filter) bool {
	return len(filter.States) > 0 && !slices.ContainsFunc(filter.States, func(s machine.State) bool { return s != machine.Abandoned })
}

// listing collects the records of a page.
type listing struct {
	store  *Store
	filter store.Filter
	limit  int
	page   store.Page
	chosen []glance
	bytes  int64
}

// fits reports whether a record is one of the page.
func (l *listing) fits(g *glance) bool {
	return g.damaged || g.record != nil && l.filter.Match(g.record, l.page.At)
}

// takes reports whether there is room for some records together.
func (l *listing) takes(more ...glance) bool {
	bytes := l.bytes
	for i := range more {
		bytes += more[i].size
	}
	total := len(l.chosen) + len(more)
	return total <= l.limit && (bytes <= pageBytes || total == 1)
}

func (l *listing) take(more ...glance) {
	for i := range more {
		l.bytes += more[i].size
	}
	l.chosen = append(l.chosen, more...)
}

// fill makes the page of what was chosen.
func (l *listing) fill(ctx context.Context) error {
	err := each(ctx, len(l.chosen), func(ctx context.Context, i int) error {
		g := &l.chosen[i]
		if g.damaged || !g.cut() {
			return nil
		}
		return l.store.complete(ctx, g)
	})
	for i := range l.chosen {
		switch g := &l.chosen[i]; {
		case g.damaged:
			l.page.Unreadable = append(l.page.Unreadable, g.digest)
		case l.fits(g): // it may be another one by now
			l.page.Records = append(l.page.Records, g.record)
		}
	}
	return err
}

// scanned chooses from the records that a scan meets, which ends after a number of places. A step whose records do
// not all fit on the page is left to the next page, or made smaller.
func (l *listing) scanned(ctx context.Context, cursor string, places int) error {
	sc, err := l.store.newScan(ctx)
	if err == nil && cursor != "" {
		err = sc.resume(cursor)
	}
	if err != nil {
		return err
	}
	if l.page.At, err = l.store.now(ctx); err != nil {
		return err
	}
	l.page.Partial, l.page.ScannedAt = true, l.page.At
	for step, full := min(max(l.limit, 10), scanStep), false; !full && places > 0 && !sc.done(); {
		fitting, next, err := l.look(ctx, &sc, step)
		places -= step
		switch {
		case err != nil:
			return err
		case l.takes(fitting...):
			l.take(fitting...)
			sc.advance(next)
			full = len(l.chosen) == l.limit
			step = min(2*step, scanStep)
		case len(l.chosen) > 0:
			full = true // the next page begins with them
		case step > 1:
			step /= 2
		default:
			l.takeSome(&sc, fitting)
			full = true
		}
	}
	if !sc.done() {
		l.page.Next = sc.String()
	}
	return nil
}

// look returns what fits at a scan's place, and the cursor after it.
func (l *listing) look(ctx context.Context, sc *scan, places int) ([]glance, uint64, error) {
	digests, next, err := sc.peek(ctx, places)
	if err != nil {
		return nil, 0, err
	}
	digests = slices.DeleteFunc(digests, func(d machine.Digest) bool {
		return slices.ContainsFunc(l.chosen, func(g glance) bool { return g.digest == d })
	})
	glances, err := l.store.glance(ctx, digests, storedAs(l.filter.States)...)
	return slices.DeleteFunc(glances, func(g glance) bool { return !l.fits(&g) }), next, err
}

// takeSome takes as many as there is room for, and leaves the scan where it is.
func (l *listing) takeSome(sc *scan, fitting []glance) {
	for _, g := range fitting {
		if !l.takes(g) {
			break
		}
		l.take(g)
		sc.passed = append(sc.passed, g.digest)
	}
}

// storedAs returns the states that records are stored in which are in one of some states as judged. None are all.
func storedAs(judged []machine.State) []machine.State {
	all := []machine.State{machine.Claimed, machine.Executing, machine.Completed, machine.Retryable, machine.Abandoned}
	if len(judged) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(stored machine.State) bool {
		return !slices.ContainsFunc(judged, func(s machine.State) bool {
			return s == stored || s == machine.Expired && stored == machine.Completed || s == machine.Abandoned && stored == machine.Executing
		})
	})
}
