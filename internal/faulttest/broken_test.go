package faulttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The kinds of check.
const (
	byIO = 1 << iota
	byTrouble
	byHistory
)

// mutants are stores that are broken, and the checks that must find each.
var mutants = []struct {
	name   string
	found  int
	breaks func(b *broken)
}{
	{"sound", 0, func(*broken) {}},
	{"grants what is held", byIO | byTrouble | byHistory, func(b *broken) {
		b.after = func(b *broken, c machine.Command, r *machine.Record, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error) {
			if reply.Outcome == machine.InProgress && !reply.Yours {
				next, reply = machine.Step(nil, c, reply.At.Time())
			}
			return next, reply, nil
		}
	}},
	{"applies everything twice", byIO | byTrouble | byHistory, func(b *broken) {
		b.after = func(b *broken, c machine.Command, _ *machine.Record, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error) {
			if c.Kind() != machine.KindInspect {
				next, reply = machine.Step(next, c, reply.At.Time())
			}
			return next, reply, nil
		}
	}},
	{"is unavailable after it has applied", byIO | byTrouble | byHistory, func(b *broken) {
		b.after = func(b *broken, c machine.Command, r *machine.Record, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error) {
			if next != r && b.every(5) {
				return next, reply, store.Unavailable(errLost)
			}
			return next, reply, nil
		}
	}},
	{"says two things at once", byIO | byTrouble | byHistory, func(b *broken) {
		b.after = func(b *broken, c machine.Command, r *machine.Record, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error) {
			if next != r && b.every(5) {
				return r, reply, fmt.Errorf("%w: %w", store.ErrIndeterminate, store.ErrUnavailable)
			}
			return next, reply, nil
		}
	}},
	{"loses an answer that it acknowledged", byIO | byTrouble | byHistory, func(b *broken) {
		b.after = func(b *broken, c machine.Command, r *machine.Record, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error) {
			if reply.Outcome == machine.CompletedNow && b.every(2) {
				return r, reply, nil
			}
			return next, reply, nil
		}
	}},
	{"forgets which invocation holds a key", byIO | byHistory, func(b *broken) {
		b.before = func(r *machine.Record, c machine.Command) (*machine.Record, machine.Command) {
			if r == nil {
				return r, c
			}
			return r, withHold(c, func(h *machine.Hold) { h.Nonce = r.Nonce })
		}
	}},
	{"forgets who holds a key", byIO | byHistory, func(b *broken) {
		b.before = func(r *machine.Record, c machine.Command) (*machine.Record, machine.Command) {
			return forged(r, c), c
		}
	}},
	{"answers when the window is over", byIO | byHistory, func(b *broken) {
		b.before = func(r *machine.Record, c machine.Command) (*machine.Record, machine.Command) {
			if r != nil && r.State == machine.Completed {
				longer := *r
				longer.WindowEnd = r.RememberUntil
				r = &longer
			}
			return r, c
		}
	}},
	{"purges what is unknown", byIO, func(b *broken) { b.purgesAll = true }},
	{"has errors of its own", byIO | byTrouble | byHistory, func(b *broken) {
		b.after = func(b *broken, c machine.Command, r *machine.Record, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error) {
			if b.every(11) {
				return r, reply, errors.New("boom")
			}
			return next, reply, nil
		}
	}},
	{"has lost its records when it comes back", byTrouble | byHistory, func(b *broken) {
		b.back = func(b *broken) { clear(b.records) }
	}},
	{"does not come back", byTrouble, func(b *broken) { b.back = func(b *broken) { b.down.Store(true) } }},
}

var checks = []struct {
	kind int
	name string
	try  func(t *testing.T, open func() (*troupe, *broken)) (found string)
}{{byIO, "I/O", tryIO}, {byTrouble, "trouble", tryTrouble}, {byHistory, "history", tryHistory}}

// TestEveryCheckFindsWhatIsBroken: a check that cannot fail would prove nothing.
func TestEveryCheckFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, mutant := range mutants {
		for _, check := range checks {
			if mutant.found != 0 && mutant.found&check.kind == 0 {
				continue // it has nothing to do with it
			}
			t.Run(mutant.name+"/"+check.name, func(t *testing.T) {
				t.Parallel()
				found := check.try(t, func() (*troupe, *broken) {
					b := newBroken()
					mutant.breaks(b)
					return newTroupe(t, Subject{Open: func() (store.Store, error) { return b, nil }, Advance: b.advance}, true), b
				})
				if (found != "") != (mutant.found != 0) {
					t.Errorf("found: %q", found)
				}
				t.Logf("%.300s", found)
			})
		}
	}
}

func tryIO(t *testing.T, open func() (*troupe, *broken)) string {
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	f := &finder{enough: enough}
	everyIO(ctx, f, 1, false, func(play func(*troupe)) { p, _ := open(); play(p) })
	return f.first()
}

func tryTrouble(t *testing.T, open func() (*troupe, *broken)) string {
	p, b := open()
	p.patience = 3 * time.Second
	return p.endure(t.Context(), b.trouble()).found()
}

func tryHistory(t *testing.T, open func() (*troupe, *broken)) string {
	p, b := open()
	f := &finder{enough: func() {}}
	p.histories(t.Context(), f, 1, 20, []store.Store{p.handle}, nil)
	p.histories(t.Context(), f, 2, 4, []store.Store{p.handle}, []Trouble{b.trouble()})
	return f.first()
}

// finder keeps the first thing that is found, and has had enough then.
type finder struct {
	mu     sync.Mutex
	found  string
	enough func()
}

func (f *finder) Logf(string, ...any) {}

func (f *finder) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == "" {
		f.found = fmt.Sprintf(format, args...)
	}
	f.enough()
}

func (f *finder) first() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}

// withHold changes the tenure that a command speaks for, if it does for one.
func withHold(c machine.Command, change func(*machine.Hold)) machine.Command {
	switch c := c.(type) {
	case machine.Renew:
		change(&c.Hold)
		return c
	case machine.Complete:
		change(&c.Hold)
		return c
	case machine.Fail:
		change(&c.Hold)
		return c
	case machine.Release:
		change(&c.Hold)
		return c
	}
	return c
}

// forged makes a record that of whoever completes it.
func forged(r *machine.Record, c machine.Command) *machine.Record {
	completion, ok := c.(machine.Complete)
	if !ok || r == nil || r.State != machine.Executing && r.State != machine.Completed {
		return r
	}
	mine := *r
	mine.Owner, mine.Attempt, mine.Nonce, mine.Revision, mine.State = completion.Owner.Digest(), completion.Attempt, completion.Nonce, completion.Revision, machine.Executing
	return &mine
}
