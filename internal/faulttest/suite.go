package faulttest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// Kind is a kind of store, as its test plugs it in.
type Kind struct {
	// Open makes a fresh, empty database, on a server that others may be using. It cleans up by t.Cleanup.
	Open func(t *testing.T) Subject
}

// Subject is one database under test.
type Subject struct {
	// Open returns a further handle on it, as another process would have it. All I/O of such handles goes
	// over Wire. The suite closes each when its test ends. A store that lives in one process may return
	// the same handle every time, if Close can be repeated.
	Open func() (store.Store, error)
	// Aside returns a handle whose I/O does not go over Wire. Nil: the store has no wire.
	Aside func() (store.Store, error)
	// Advance moves the database's clock forward, for all handles. Apart from it the clock may stand
	// still or run.
	Advance func(d time.Duration)
	// Wire is what lies between the handles and the data. Nil: only whole commands can go wrong.
	Wire Wire
}

// proving reports whether the long runs were asked for.
func proving() bool { return os.Getenv("REPRISE_PROVE") == "1" }

// seedOf returns the seed of a run, and tells it. REPRISE_SEED repeats one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("REPRISE_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("REPRISE_SEED=%d", seed)
	return seed
}

// Run tests a kind of store. The parts run in parallel.
func Run(t *testing.T, k Kind) {
	t.Helper()
	t.Run("commands", func(t *testing.T) {
		t.Parallel()
		cheap := k.Open(t).Wire == nil
		everyIO(t, t, seedOf(t), proving() || cheap, func() troupe { return newTroupe(t, k.Open(t), true) })
	})
	t.Run("wire", func(t *testing.T) {
		t.Parallel()
		if k.Open(t).Wire == nil {
			t.Skip("the store has no wire: every I/O is a command")
		}
		everyIO(t, t, seedOf(t), proving(), func() troupe { return newTroupe(t, k.Open(t), false) })
	})
}

// troupe plays scenes on a database of its own, one after the other.
type troupe struct {
	subject Subject     // with the wire that is broken
	handle  store.Store // over that wire
	truth   store.Store // not over it
}

// newTroupe opens a database. If whole commands are to go wrong, the wire is in front of the store.
func newTroupe(t *testing.T, s Subject, commands bool) troupe {
	t.Helper()
	open := func(from func() (store.Store, error)) store.Store {
		handle, err := from()
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() {
			if err := handle.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return handle
	}
	p := troupe{subject: s, handle: open(s.Open)}
	p.truth = p.handle
	if s.Aside != nil {
		p.truth = open(s.Aside)
	}
	if commands {
		f := newFront(p.handle)
		p.subject.Wire, p.handle, p.truth = f, f, p.handle
	}
	return p
}

// reporter is whom a test tells what it found.
type reporter interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}
