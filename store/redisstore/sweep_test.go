package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

var abandonedOnly = store.Filter{States: []machine.State{machine.Abandoned}}

// interrupted makes an execution whose lease has run out.
func (d *database) interrupted(s *Store) machine.Begin {
	d.Helper()
	begin := newBegin()
	want(d, s, machine.Acquired, begin)
	d.advance(begin.Lease)
	return begin
}

// crowd fills the database with more keys of others than a listing sweeps.
func (d *database) crowd() {
	d.Helper()
	d.do("EVAL", "for i = 1, ARGV[1] do redis.call('SET', KEYS[1] .. i, '') end", "1", "others:", "10001")
}

func atOnceWithoutRest(time.Duration) bool { return true }

// A listing of the abandoned records of a small store looks for interrupted ones itself, and is complete.
func TestSmallStoresAreSweptForAListing(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begin := d.interrupted(s)
	rerun := newBegin()
	rerun.Interruption = machine.Rerun
	want(t, s, machine.Acquired, rerun)
	d.advance(rerun.Lease)
	page, err := s.List(t.Context(), abandonedOnly, "", 10)
	if err != nil || page.Partial || len(page.Records) != 1 || page.Records[0].Scope.Digest != begin.Scope.Digest {
		t.Fatalf("%+v, %v; want the interrupted one", page, err)
	}
	if page.ScannedAt > page.At || page.At.Sub(page.ScannedAt) > time.Minute {
		t.Errorf("scanned at %v, listed at %v", page.ScannedAt, page.At)
	}
}

// A listing of a large store says how old the last sweep is, and has what that found.
func TestListingOfALargeStoreSaysHowOldTheSweepIs(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	d.crowd()
	begin, written := d.interrupted(s), newBegin()
	want(t, s, machine.Acquired, written)
	want(t, s, machine.Failed, unknownFailure(written))
	list := func() store.Page {
		page, err := s.List(t.Context(), abandonedOnly, "", 10)
		if err != nil || !page.Partial {
			t.Fatalf("%+v, %v", page, err)
		}
		return page
	}
	if page := list(); page.ScannedAt != 0 || len(page.Records) != 1 || page.Records[0].Scope.Digest != written.Scope.Digest {
		t.Fatalf("before a sweep: %+v", page)
	}
	before, err := s.now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.sweep(t.Context(), atOnceWithoutRest); err != nil {
		t.Fatal(err)
	}
	page := list()
	if page.ScannedAt < before || page.ScannedAt > page.At || len(page.Records) != 2 {
		t.Fatalf("after a sweep at %v: %+v", before, page)
	}
	want(t, s, machine.SettledNow, settlement(begin, 1, false))
	if page := list(); len(page.Records) != 1 {
		t.Errorf("after a settlement: %+v", page)
	}
}

// A store that is open sweeps by itself, from time to time.
func TestAnOpenStoreSweeps(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.options.sweep = 10 * time.Millisecond
	s := d.open()
	d.open() // they take turns
	begin := d.interrupted(s)
	eventually(t, func() error {
		if !d.inIndex(begin.Scope.Digest) {
			return errors.New("not in the index")
		}
		return nil
	})
	var swept machine.Instant
	for range 2 {
		eventually(t, func() error {
			last, err := s.lastSweep(t.Context())
			if err == nil && last == swept {
				err = errors.New("no sweep was finished")
			}
			swept = last
			return err
		})
	}
}

// One process sweeps at a time, and none while the last sweep is young.
func TestSweepsTakeTurns(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	one, other := d.open(), d.open()
	if !one.takeTurn(t.Context(), time.Minute) || other.takeTurn(t.Context(), time.Minute) {
		t.Error("not exactly one got the turn")
	}
	if life, err := d.do("PTTL", d.names.sweeping()).AsInt64(); err != nil || life <= 0 || life > sweepTurn.Milliseconds() {
		t.Errorf("a turn lasts %d ms, %v", life, err)
	}
	d.do("DEL", d.names.sweeping())
	if err := one.sweep(t.Context(), atOnceWithoutRest); err != nil {
		t.Fatal(err)
	}
	if other.takeTurn(t.Context(), time.Minute) {
		t.Error("a sweep follows at once")
	}
	if !other.takeTurn(t.Context(), 0) {
		t.Error("no sweep when the last one is old")
	}
}

// A sweep that did not look at all keys is none.
func TestUnfinishedSweepsDoNotCount(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	ended := func(time.Duration) bool { return false }
	if err := s.sweep(t.Context(), ended); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a sweep that was ended: %v", err)
	}
	lost := func(time.Duration) bool {
		d.do("DEL", d.names.generation(7))
		return true
	}
	if err := s.sweep(t.Context(), lost); !errors.Is(err, store.ErrLost) {
		t.Errorf("a sweep in which a bucket was lost: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.sweep(ctx, atOnceWithoutRest); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a sweep whose context had ended: %v", err)
	}
	if swept, err := s.lastSweep(t.Context()); swept != 0 || err != nil {
		t.Errorf("the last sweep was at %v, %v", swept, err)
	}
}
