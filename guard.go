package reprise

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Guard runs actions so that the same call takes effect once. It is safe for concurrent use; several
// guards, in any number of processes, may share a store.
type Guard struct {
	store     store.Store
	watcher   store.Watcher // nil: who waits polls
	policy    Policy
	ring      ring
	pacemaker pacemaker

	// life ends when Close has waited long enough, and with it what goes on in the background.
	life        context.Context
	end         context.CancelFunc
	mu          sync.Mutex
	closed      bool
	background  sync.WaitGroup
	unconfirmed atomic.Int64 // goroutines that go on after their callers were answered
}

// maxUnconfirmed bounds what a store that does not answer can pile up: no call begins above it.
const maxUnconfirmed = 4096

// Unconfirmed returns how many calls were answered, or given up, whose records the store has not yet
// confirmed. They go on in the background.
func (g *Guard) Unconfirmed() int { return int(g.unconfirmed.Load()) }

// New returns a guard over a store. The policy is checked; the store is not asked, see [Guard.Check].
// The store stays the caller's, to be closed after the guard.
func New(s store.Store, p Policy) (*Guard, error) {
	if s == nil {
		return nil, invalid("no store")
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	keeper, ok := store.As[store.SecretKeeper](s)
	if !ok {
		return nil, &Error{Kind: ErrInvalid, Detail: "the store keeps no secret versions", Cause: store.ErrUnsupported}
	}
	g := &Guard{store: s, policy: p.withDefaults()}
	g.watcher, _ = store.As[store.Watcher](s)
	g.life, g.end = context.WithCancel(context.Background())
	g.ring = ring{secrets: p.Secrets, keeper: keeper, timeout: g.policy.CommandTimeout, log: g.policy.Log, spawn: g.background.Go, life: g.life}
	return g, nil
}

// Policy returns the guard's policy with its defaults filled in.
func (g *Guard) Policy() Policy { return g.policy }

// Check asks the store whether the secrets fit it, and announces new versions. A program calls it at
// start, so that a mistake shows then and not at the first call.
func (g *Guard) Check(ctx context.Context) error {
	_, err := g.ring.refresh(ctx)
	return err
}

// Prepare fixes everything that one try of a call needs, for stores that commit record and effect
// together. It is good for one attempt. It may ask the store about secrets, bounded by CommandTimeout.
func (g *Guard) Prepare(call Call) (*store.Invocation, error) {
	if !g.enter() {
		return nil, &Error{Kind: ErrClosed}
	}
	defer g.background.Done()
	p := &prepared{}
	if err := g.prepare(context.Background(), p, &call, time.Now()); err != nil {
		return nil, err
	}
	return &p.Invocation, nil
}

// prepared is an invocation with the room for what it points to, so that all of it is one allocation.
type prepared struct {
	store.Invocation
	versions    []ringVersion
	candidates  [1]store.Candidate // enough while one version lives
	fingerprint [1]machine.Fingerprint
}

func (g *Guard) prepare(ctx context.Context, p *prepared, call *Call, now time.Time) error {
	if err := call.check(); err != nil {
		return err
	}
	view, err := g.ring.current(ctx, now)
	if err != nil {
		return err
	}
	p.versions = view.versions
	p.Candidates = p.candidates[:0]
	for _, v := range view.versions {
		p.Candidates = append(p.Candidates, store.Candidate{Scope: v.key.scope(call), CreateBefore: v.before, CreateFrom: v.from})
	}
	if p.Fingerprints = call.Fingerprints; len(p.Fingerprints) == 0 {
		p.fingerprint[0] = call.payloadFingerprint()
		p.Fingerprints = p.fingerprint[:]
	}
	p.Codecs = call.codecs()
	p.Policy, p.Interruption, p.Lease = g.policy.Revision, g.policy.Interruption, g.policy.Lease
	p.Window, p.Remember, p.Retryable = g.policy.ReplayWindow, g.policy.Remember, g.policy.RetryableFor
	return p.identify(call.Resume)
}

// identify gives the invocation its random names.
func (p *prepared) identify(resume Retained) error {
	var random [len(machine.Token{}) + len(machine.ID{}) + len(machine.Nonce{})]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	rest := random[copy(p.Owner[:], random[:]):]
	rest = rest[copy(p.Operation[:], rest):]
	copy(p.Nonce[:], rest)
	if resume != (Retained{}) {
		p.Owner, p.Operation = resume.Owner, resume.Operation
	}
	return nil
}

// Close ends the guard: later calls get ErrClosed. It waits for calls under way, and for recordings that
// go on in the background, until ctx ends; then it stops the latter and says so.
func (g *Guard) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		g.background.Wait()
		close(done)
	}()
	defer g.end()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		select {
		case <-done: // both at once
			return nil
		default:
		}
		return &Error{Kind: ErrUnavailable, Detail: "calls or recordings were still under way at close; keys that are not recorded become unknown when their leases end", Cause: context.Cause(ctx)}
	}
}

// enter counts a call as under way, unless the guard is closed. The caller leaves with background.Done.
func (g *Guard) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.background.Add(1)
	}
	return !g.closed
}

func unavailable(err error) error {
	kind := ErrUnavailable
	switch {
	case errors.Is(err, store.ErrLost):
		kind = ErrLost
	case errors.Is(err, store.ErrCorrupt):
		kind = ErrCorrupt
	}
	return &Error{Kind: kind, Cause: err}
}

func secretError(err error) error {
	if c := store.Classify(err); c == store.ErrUnavailable || c == store.ErrLost {
		return unavailable(err)
	}
	if errors.Is(err, store.ErrSecretTooLate) || errors.Is(err, store.ErrSecretReused) {
		return &Error{Kind: ErrSecret, Cause: err}
	}
	return unavailable(err)
}
