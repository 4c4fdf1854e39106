package movestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/movestore"
)

// world is callers of a few keys beside a copier, one step of somebody's at a time. Some know the previous store
// alone, some both, and in the end some the primary store alone. Whatever comes between whatever, no answered
// key runs again, and none of which nobody knows.
type world struct {
	t                 *testing.T
	mu                sync.Mutex
	random            *rand.Rand
	clock             *clock
	primary, previous *memstore.Store
	both              [2]*movestore.Store // of two processes
	alone             bool                // everything is copied: processes start with the primary store alone
	keys              []*key
	tokens            int
	round, steps      int
	crash             int // the copier dies at this step; 0: it does not
}

// key is what is true of one.
type key struct {
	scope    machine.Scope
	answered bool
	running  *run   // nobody has ended it
	dead     []*run // those that were taken over as the policy allows, and may still end
}

// run is an execution.
type run struct {
	hold  machine.Hold
	rerun bool
	store store.Store
	lease machine.Instant
}

const worldLease = 10 * time.Second

var errCrash = errors.New("the copier dies here")

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), clock: newClock()}
	w.primary, w.previous = stores(t, w.clock)
	for i := range w.both {
		w.both[i] = open(t, w.primary, w.previous, w.clock, time.Minute)
	}
	for i := range 16 {
		w.keys = append(w.keys, &key{scope: machine.Scope{Operation: "POST /x", SecretVersion: 1, Digest: machine.Digest{byte(i + 1)}}})
	}
	return w
}

// between runs some steps of callers before one of the copier's.
func (w *world) between() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps++
	if w.steps == w.crash {
		return errCrash
	}
	for range w.random.IntN(4) {
		w.step()
	}
	return nil
}

// step is one of a caller's.
func (w *world) step() {
	k := w.keys[w.random.IntN(1+min(w.round/2, len(w.keys)-1))] // some keys come late
	switch n := w.random.IntN(10); {
	case n < 2:
		w.clock.advance(time.Duration(w.random.Int64N(int64(worldLease))))
	case n < 6 || k.running == nil && len(k.dead) == 0:
		w.call(k)
	case n < 8:
		w.end(k)
	}
}

// knows is the stores of a process.
func (w *world) knows() (s store.Store, before machine.Instant) {
	switch n := w.random.IntN(4); {
	case n == 0 && w.alone:
		return w.primary, 0
	case n == 1 && !w.alone: // a guard does not make records after the mark: see TestProcessOfThePreviousStore
		return w.previous, machine.InstantOf(w.both[0].From())
	}
	return w.both[w.random.IntN(2)], 0
}

// call asks for a key, and runs if it is granted.
func (w *world) call(k *key) {
	s, before := w.knows()
	w.tokens++
	id := machine.Digest{1, byte(w.tokens >> 8), byte(w.tokens)}
	begin := machine.Begin{Claim: machine.Claim{
		Scope: k.scope, Owner: machine.Token(id), Operation: machine.ID(id[:16]), Lease: worldLease, CreateBefore: before,
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{9}}}, Codecs: []string{"text/1"},
	}, Nonce: machine.Nonce(id[:16])}
	if w.random.IntN(3) == 0 {
		begin.Interruption = machine.Rerun
	}
	reply := w.apply(s, begin)
	if reply.Outcome == machine.Takeable && w.random.IntN(3) > 0 {
		begin.Seen = reply.Revision
		reply = w.apply(s, begin)
	}
	switch reply.Outcome {
	case machine.Replay:
		if !k.answered {
			w.t.Errorf("an answer that nobody gave: %+v", reply)
		}
	case machine.Acquired, machine.TakenOver:
		if k.answered {
			w.t.Errorf("an answered key runs again: %v", reply.Outcome)
		}
		if r := k.running; r != nil && !(r.rerun && reply.At >= r.lease) {
			w.t.Errorf("a key runs that runs already, or of which nobody knows: %v from %v", reply.Outcome, reply.From)
		} else if r != nil {
			k.dead = append(k.dead, r)
		}
		k.running = &run{
			hold:  machine.Hold{Scope: k.scope, Owner: begin.Owner, Attempt: reply.Attempt, Revision: reply.Revision, Operation: begin.Operation, Nonce: begin.Nonce},
			rerun: begin.Interruption == machine.Rerun, store: s, lease: reply.LeaseEnd,
		}
	}
}

// end ends an execution, by an answer or without effect, or lets it be.
func (w *world) end(k *key) {
	r := k.running
	if r == nil || len(k.dead) > 0 && w.random.IntN(3) == 0 {
		if reply := w.apply(k.dead[0].store, w.complete(k.dead[0])); reply.Outcome.Applied() {
			w.t.Errorf("who was replaced is heard: %v", reply.Outcome)
		}
		k.dead = k.dead[1:]
		return
	}
	var command machine.Command = w.complete(r)
	answers := w.random.IntN(2) == 0
	if !answers {
		command = machine.Fail{Hold: r.hold, NoEffect: true, Reason: "none", Remember: time.Hour}
	}
	switch reply := w.apply(r.store, command); {
	case reply.Outcome.Applied():
		k.answered, k.running = answers, nil
	case reply.Outcome == machine.NotOwner && reply.At >= r.lease && (r.rerun || r.store == w.previous):
		// The copier is about to fence it, or its process knows nothing of the primary store. It is unknown, or free to run again.
	default:
		w.t.Errorf("%v of who runs is refused: %v", command.Kind(), reply.Outcome)
	}
}

func (w *world) complete(r *run) machine.Complete {
	return machine.Complete{Hold: r.hold, Response: machine.NewResponse("text/1", []byte("answer")), Window: 24 * time.Hour, Remember: 24 * time.Hour}
}

func (w *world) apply(s store.Store, command machine.Command) machine.Reply {
	reply, err := s.Apply(w.t.Context(), command)
	if err != nil {
		w.t.Errorf("%v: %v", command.Kind(), err)
	}
	return reply
}

// watched is a store as the copier has it: others come between its steps, and it may die at each.
type watched struct {
	*memstore.Store
	w *world
}

func (s watched) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	if err := s.w.between(); err != nil {
		return machine.Reply{}, err
	}
	return s.Store.Apply(ctx, command)
}

func (s watched) List(ctx context.Context, filter store.Filter, cursor string, _ int) (store.Page, error) {
	page, err := s.Store.List(ctx, filter, cursor, 2)
	return page, errors.Join(err, s.w.between())
}

func (s watched) Import(ctx context.Context, records []*machine.Record) ([]store.Import, error) {
	if err := s.w.between(); err != nil {
		return nil, err
	}
	return s.Store.Import(ctx, records)
}

// Callers and a copier that dies now and then, in many orders.
func TestNoAnsweredKeyRunsAgain(t *testing.T) {
	t.Parallel()
	seeds := uint64(150)
	if os.Getenv("REPRISE_PROVE") == "1" {
		seeds = 10_000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newWorld(t, seed).run()
		})
	}
}

func (w *world) run() {
	from, to := watched{w.previous, w}, watched{w.primary, w}
	for ; w.round < 60 && !w.t.Failed(); w.round++ {
		w.steps, w.crash = 0, w.random.IntN(12)
		if _, err := movestore.Copy(w.t.Context(), from, to, movestore.CopyOptions{}); err != nil && !errors.Is(err, errCrash) {
			w.t.Fatal(err)
		}
		w.crash = 0
		verified, err := movestore.Verify(w.t.Context(), w.previous, w.primary, movestore.VerifyOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		w.alone = w.alone || verified.Complete()
	}
	if !w.alone && !w.t.Failed() {
		w.t.Logf("never complete: %d keys", len(w.keys))
	}
}
