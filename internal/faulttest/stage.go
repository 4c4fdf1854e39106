package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// The times of the guards. Those who wait for what never comes wait for less. Leases are far longer than
// any run takes, and end because the store's clock is moved, except where a scene says otherwise.
const (
	lease        = 30 * time.Second
	timeout      = 5 * time.Second
	shortTimeout = 60 * time.Millisecond
)

// operation is what all callers ask for.
const operation = "charge"

// stage is where a scene is played: a store with faults, guards on it, and the truth beside it.
type stage struct {
	ctx     context.Context
	name    string // of this run, in every key
	fault   Fault
	report  *report
	history *history
	subject Subject
	store   store.Store // what the guards use
	// patience is how long anything may take before it is said to take for ever.
	patience time.Duration
	calm     atomic.Bool // nothing goes wrong any more
	gone     atomic.Bool // whoever played is dead
	audited  bool        // the scene is over

	mu      sync.Mutex
	pages   []*page
	digests map[machine.Digest]*page
	guards  []*reprise.Guard
	notes   []string
}

// newStage returns a stage over a handle, whose wire breaks as it was told.
func (p *troupe) newStage(ctx context.Context, name string, fault Fault) *stage {
	s := &stage{
		ctx: ctx, name: name, fault: fault, report: p.newReport(), history: p.newHistory(), subject: p.subject,
		patience: p.patience, digests: map[machine.Digest]*page{},
	}
	wire := p.subject.Wire
	s.history.phase = func() phase {
		if wire.Struck() {
			return mending
		}
		return sound
	}
	s.store = &recorder{inner: p.handle, history: s.history, report: s.report, calm: &s.calm, gone: &s.gone}
	return s
}

func (p *troupe) newReport() *report { return &report{loses: p.subject.Loses} }

func (p *troupe) newHistory() *history { return &history{fades: p.subject.Fades} }

// guard returns a guard, as one more process has it.
func (s *stage) guard(p reprise.Policy) *reprise.Guard {
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: bytes.Repeat([]byte("reprise."), 4)})
	if err != nil {
		s.report.breach("secrets: %v", err)
	}
	p.Secrets = secrets
	if p.Lease == 0 {
		p.Lease, p.CommandTimeout = lease, s.timeout()
	}
	g, err := reprise.New(s.store, p)
	if err != nil {
		s.report.breach("guard: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guards = append(s.guards, g)
	return g
}

// key returns the page of a new key, under a policy.
func (s *stage) key(p reprise.Policy, name string) *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &page{report: s.report, rerun: p.Interruption == reprise.Rerun, call: reprise.Call{
		Operation: operation, Principal: "customer", Key: fmt.Sprintf("%s/%s", s.name, name), Payload: []byte(name),
	}}
	s.pages = append(s.pages, one)
	return one
}

// prepare returns an invocation for a key, to be used as another process would. It is nil if the store
// could not be asked.
func (s *stage) prepare(g *reprise.Guard, p *page) *store.Invocation {
	for range tries {
		v, err := g.Prepare(p.call)
		if err == nil {
			s.met(v.Candidates[0].Scope.Digest, p)
			return v
		}
		if !errors.Is(err, reprise.ErrUnavailable) {
			s.report.breach("prepare: %v", err)
		}
	}
	return nil
}

// met notes that a record is that of a page.
func (s *stage) met(digest machine.Digest, p *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digests[digest] = p
}

// pageOf returns the page of a record.
func (s *stage) pageOf(digest machine.Digest) *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.digests[digest]
}

// apply sends a command until it is answered, as another process would.
func (s *stage) apply(c machine.Command) (reply machine.Reply, ok bool) {
	for range tries {
		if s.dead() {
			break
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout())
		reply, err := s.store.Apply(ctx, c)
		cancel()
		if err == nil {
			return reply, true
		}
	}
	return reply, false
}

// timeout is how long an exchange with the store may take.
func (s *stage) timeout() time.Duration {
	if s.fault.slow() {
		return shortTimeout
	}
	return timeout
}

// advance moves the store's clock.
func (s *stage) advance(d time.Duration) {
	if !s.dead() {
		s.subject.Advance(d)
	}
}

// dead reports whether the process that plays has died.
func (s *stage) dead() bool { return s.fault.fatal() && s.subject.Wire.Struck() }

func (s *stage) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, what)
}

// leave ends all guards: when what they do in the background is done, or at once if they are dead.
func (s *stage) leave() {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	dead := s.dead()
	if dead {
		cancel()
	}
	s.mu.Lock()
	guards := s.guards
	s.guards = nil
	s.mu.Unlock()
	for _, g := range guards {
		if err := g.Close(ctx); err != nil && !dead {
			s.report.breach("what a guard does in the background did not end: %v", err)
		}
	}
}
