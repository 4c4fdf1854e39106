package faulttest

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// Kind is a kind of store, as its test plugs it in.
type Kind struct {
	// Open makes a fresh, empty database, on a server that others may be using. It cleans up by t.Cleanup.
	// Nil: there is but harm, because the same store was tested by another Kind.
	Open func(t *testing.T) Subject
	// Harm makes databases on servers of their own, and says what can befall those. The troubles of one
	// come one after the other.
	Harm map[string]func(t *testing.T) (Subject, []Trouble)
	// Refused are ways to open a store that must be refused as unavailable, in time: with a wrong
	// password, say.
	Refused func(t *testing.T) map[string]func(ctx context.Context) (store.Store, error)
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
	// Fades says that records which count as absent may be gone by themselves.
	Fades bool
	// Loses says that the store may say, when something has gone wrong, that it has lost its data.
	Loses bool
	// Died returns the database as the next process finds it, after the one with the handles has died in
	// the middle of its I/O: what was not made durable may be gone. Nil: it is as it was, because
	// somebody else keeps it.
	Died func() Subject
}

// patience is how long anything may take that is to come to an end.
const patience = 30 * time.Second

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
	var parts []part
	if k.Open != nil {
		parts = k.parts()
	}
	for name, harm := range k.Harm {
		parts = append(parts, part{"trouble of the " + name, func(t *testing.T) { befall(t, t, harm) }})
	}
	if k.Refused != nil {
		parts = append(parts, part{"refused", func(t *testing.T) {
			for name, open := range k.Refused(t) {
				refuse(t.Context(), t, name, open)
			}
		}})
	}
	for _, one := range parts {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			one.run(t)
		})
	}
}

// parts are those that harm no server.
func (k Kind) parts() []part {
	return []part{
		{"commands", func(t *testing.T) {
			everyIO(t.Context(), t, seedOf(t), proving(), k.stages(t, true))
		}},
		{"wire", func(t *testing.T) {
			if k.Open(t).Wire == nil {
				t.Skip("the store has no wire: every I/O is a command")
			}
			everyIO(t.Context(), t, seedOf(t), proving(), k.stages(t, false))
		}},
		{"histories", func(t *testing.T) {
			p := newTroupe(t, k.Open(t), false)
			p.histories(t.Context(), t, seedOf(t), rounds(3, 400), p.handles(t), nil)
		}},
	}
}

// stages opens databases of which each is closed with a test of its own.
func (k Kind) stages(t *testing.T, commands bool) stages {
	return func(play func(*troupe)) {
		t.Run("database", func(t *testing.T) { play(newTroupe(t, k.Open(t), commands)) })
	}
}

type part struct {
	name string
	run  func(t *testing.T)
}

// rounds is how many there are: few, or many when proving.
func rounds(few, many int) int {
	if proving() {
		return many
	}
	return few
}

// befall lets the troubles of a server befall it: each once while callers are busy, then any of them while
// random commands are sent.
func befall(t *testing.T, r reporter, harm func(t *testing.T) (Subject, []Trouble)) {
	subject, troubles := harm(t)
	p := newTroupe(t, subject, false)
	var total tally
	for _, trouble := range troubles {
		rep := p.endure(t.Context(), trouble)
		if found := rep.found(); found != "" {
			r.Errorf("%s:\n\t%s", trouble.Name, found)
		}
		total.add(1, rep)
	}
	total.judge(r, "troubles came and went")
	sudden := slices.DeleteFunc(troubles, func(tr Trouble) bool { return tr.Slow })
	if len(sudden) > 0 {
		p.histories(t.Context(), r, seedOf(t), rounds(1, 100), p.handles(t), sudden)
	}
}

// refuse opens what must be refused.
func refuse(ctx context.Context, r reporter, name string, open func(ctx context.Context) (store.Store, error)) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	handle, err := open(ctx)
	if err == nil {
		r.Errorf("%s: it was opened", name)
		handle.Close()
		return
	}
	if ctx.Err() != nil || store.Classify(err) != store.ErrUnavailable {
		r.Errorf("%s: %v", name, err)
	}
}

// troupe plays scenes on a database of its own, one after the other.
type troupe struct {
	subject Subject     // with the wire that is broken
	handle  store.Store // over that wire
	truth   store.Store // not over it
	use     func(Subject)
	// patience is how long anything may take before it is said to take for ever.
	patience time.Duration
}

// newTroupe opens a database. If whole commands are to go wrong, or the store has no wire, there is one in
// front of the store.
func newTroupe(t *testing.T, s Subject, commands bool) *troupe {
	t.Helper()
	p := &troupe{patience: patience}
	p.use = func(s Subject) {
		p.subject, p.handle = s, open(t, s.Open)
		p.truth = p.handle
		if s.Aside != nil {
			p.truth = open(t, s.Aside)
		}
		if commands || s.Wire == nil {
			f := newFront(p.handle)
			p.subject.Wire, p.subject.Died, p.handle = f, nil, f
		}
	}
	p.use(s)
	return p
}

// handles returns handles as several processes have them, over the wire.
func (p *troupe) handles(t *testing.T) []store.Store {
	if _, alone := p.handle.(*front); alone {
		return []store.Store{p.handle}
	}
	return []store.Store{p.handle, open(t, p.subject.Open), open(t, p.subject.Open)}
}

// open opens a handle that is closed at the end of the test.
func open(t *testing.T, from func() (store.Store, error)) store.Store {
	t.Helper()
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

// reporter is whom a test tells what it found.
type reporter interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}
