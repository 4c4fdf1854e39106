package faulttest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What a random history is made of.
const (
	clients  = 6
	keys     = 3               // at a time
	calls    = 8               // of each client before the clock moves on, and after it
	rough    = 12              // one I/O of so many fails
	lifetime = 2 * time.Second // of a call
)

// random is a random history.
type random struct {
	*troupe
	seed    uint64
	round   int
	trouble *Trouble // that comes and goes; nil: I/Os fail at random
	report  *report
	history *history
	clients []*commander
	handles []store.Store
	truth   *recorder
	phase   atomic.Int64
	made    atomic.Int64 // commands
}

// random lets clients send random commands, while I/Os fail at random, or while a trouble comes and goes.
// It reports what was found, and counts what came of the commands.
func (p *troupe) random(ctx context.Context, seed uint64, round int, handles []store.Store, tr *Trouble, met map[string]int) *report {
	r := &random{troupe: p, seed: seed, round: round, trouble: tr, report: p.newReport(), history: p.newHistory()}
	r.history.phase = func() phase { return phase(r.phase.Load()) % 2 }
	for _, handle := range handles {
		r.handles = append(r.handles, &recorder{inner: handle, history: r.history, report: r.report})
	}
	r.truth = &recorder{inner: p.truth, history: r.history, report: r.report}
	for i := range clients {
		r.clients = append(r.clients, newCommander(seed+uint64(round), i))
	}
	r.truth.look(ctx, r.scope(0)) // tells the time
	for half := range 2 {
		r.half(ctx, uint64(half))
		for _, scope := range r.history.scopes() {
			r.truth.look(ctx, scope)
		}
		p.subject.Advance(30 * time.Second)
	}
	for _, x := range r.history.exchanges() {
		met[result(x)]++
	}
	r.history.check(r.report, tr != nil && tr.Mute)
	return r.report
}

// half is a half of it: the clock moves on after it.
func (r *random) half(ctx context.Context, half uint64) {
	applied := r.history.await(func(x exchange) bool { return x.err == nil && x.reply.Outcome.Applied() })
	begun := make(chan struct{})
	if r.trouble == nil {
		r.phase.Add(1)
		r.subject.Wire.Storm(r.seed+2*uint64(r.round)+half, rough)
		close(begun)
	}
	var busy sync.WaitGroup
	for i, c := range r.clients {
		busy.Go(func() { c.client(ctx, r.handles[i%len(r.handles)], r, begun) })
	}
	if r.trouble != nil {
		somebody(applied)
		harmed := r.history.await(func(x exchange) bool { return x.err != nil })
		r.phase.Add(1)
		r.trouble.Begin()
		close(begun)
		somebody(harmed)
		r.trouble.End()
	}
	busy.Wait()
	r.subject.Wire.Break(0, 0)
	r.phase.Add(1)
}

// scope returns one of the keys that are in use now. They change after a while: commands in doubt pile up
// on a key, and the search for an order takes longer with each.
func (r *random) scope(key int) machine.Scope {
	const age = 2 * clients * calls
	name := fmt.Sprint("random ", r.seed, r.round, r.made.Load()/age, key)
	return machine.Scope{Operation: operation, SecretVersion: 1, Digest: sha256.Sum256([]byte(name))}
}

// result names what came of a command.
func result(x exchange) string {
	switch {
	case errors.Is(x.err, store.ErrIndeterminate):
		return "in doubt"
	case x.err != nil:
		return "unavailable"
	}
	return x.reply.Outcome.String()
}

// somebody waits until something has happened to one of the clients, but not for long: it need not.
func somebody(has <-chan struct{}) {
	late := time.NewTimer(lifetime)
	defer late.Stop()
	select {
	case <-has:
	case <-late.C:
	}
}

// client sends commands one after the other: some, then more until a trouble has begun, then some again.
func (c *commander) client(ctx context.Context, s store.Store, r *random, begun <-chan struct{}) {
	for left := calls; left > 0 && ctx.Err() == nil; left-- {
		select {
		case <-begun:
		default:
			if left = max(left, 4); left == 4 {
				pause(ctx, time.Millisecond)
			}
		}
		r.made.Add(1)
		command, owner := c.command(c.choose(r))
		if reply, ok := c.insist(ctx, s, command); ok {
			c.note(command, owner, reply)
		}
	}
}

// choose chooses a key: mostly one that the client holds.
func (c *commander) choose(r *random) machine.Scope {
	scope := r.scope(c.IntN(keys))
	for range keys {
		if c.known[scope.Digest].owner == c.name || c.one(3) {
			break
		}
		scope = r.scope(c.IntN(keys))
	}
	return scope
}

// insist sends a command until it is answered. One that is in doubt is given up sometimes; while nothing is
// to be had, it waits.
func (c *commander) insist(ctx context.Context, s store.Store, command machine.Command) (machine.Reply, bool) {
	until := time.Now().Add(patience)
	for time.Now().Before(until) {
		ctx, cancel := context.WithTimeout(ctx, lifetime)
		reply, err := s.Apply(ctx, command)
		cancel()
		switch {
		case err == nil:
			return reply, true
		case errors.Is(err, store.ErrIndeterminate):
			if c.one(3) {
				return reply, false
			}
		case !pause(ctx, 5*time.Millisecond):
			return reply, false
		}
	}
	return machine.Reply{}, false
}

// maxQuiet are the rounds in which nothing goes wrong after which a subject is taken for one that nothing can harm.
const maxQuiet = 20

// histories checks one random history after the other, with failing I/Os, or with the troubles one after
// the other if there are any. A trouble may miss a round: it befalls one server of several, and the keys of the round are
// on others. Rounds in which nothing at all went wrong prove nothing, so there are more of them then.
func (p *troupe) histories(ctx context.Context, r reporter, seed uint64, rounds int, handles []store.Store, troubles []Trouble) {
	met, total := map[string]int{}, tally{}
	order := rand.New(rand.NewPCG(seed, 2))
	harmed := func() bool { return met["in doubt"]+met["unavailable"] > 0 }
	for round := 0; round < rounds || !harmed() && round < rounds+maxQuiet; round++ {
		var tr *Trouble
		if len(troubles) > 0 {
			tr = &troubles[order.IntN(len(troubles))]
		}
		rep := p.random(ctx, seed, round, handles, tr, met)
		if found := rep.found(); found != "" {
			r.Errorf("round %d of REPRISE_SEED=%d:\n\t%s", round, seed, found)
			return
		}
		total.add(1, rep)
	}
	total.judge(r, "rounds were played")
	r.Logf("what commands came to: %v", met)
	if !harmed() {
		r.Errorf("nothing went wrong in %d rounds: %s", total.done, fmt.Sprint(met))
	}
}
