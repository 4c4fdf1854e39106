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
	seed  uint64
	round int
	made  atomic.Int64 // commands
}

// scope returns one of the keys that are in use now. They change after a while: commands in doubt pile up
// on a key, and the search for an order takes longer with each.
func (r *random) scope(key int) machine.Scope {
	const age = 2 * clients * calls
	name := fmt.Sprint("random ", r.seed, r.round, r.made.Load()/age, key)
	return machine.Scope{Operation: operation, SecretVersion: 1, Digest: sha256.Sum256([]byte(name))}
}

// random lets clients send random commands, while I/Os fail at random, or while a trouble comes and goes.
// It reports what was found, and counts what came of the commands.
func (p *troupe) random(ctx context.Context, seed uint64, round int, handles []store.Store, tr *Trouble, met map[string]int) *report {
	made, rep, h := &random{seed: seed, round: round}, p.newReport(), p.newHistory()
	var now atomic.Int64
	h.phase = func() phase { return phase(now.Load()) % 2 }
	all := make([]store.Store, len(handles))
	for i, handle := range handles {
		all[i] = &recorder{inner: handle, history: h, report: rep}
	}
	truth := &recorder{inner: p.truth, history: h, report: rep}
	truth.look(ctx, made.scope(0))
	commanders := make([]*commander, clients)
	for i := range commanders {
		commanders[i] = newCommander(seed+uint64(round), i)
	}
	for half := range 2 {
		applied := h.await(func(x exchange) bool { return x.err == nil && x.reply.Outcome.Applied() })
		var busy sync.WaitGroup
		begun := make(chan struct{})
		if tr == nil {
			p.subject.Wire.Storm(seed+uint64(2*round+half), rough)
			close(begun)
		}
		for i, c := range commanders {
			busy.Go(func() { c.client(ctx, all[i%len(all)], made, begun) })
		}
		if tr != nil {
			somebody(applied)
			harmed := h.await(func(x exchange) bool { return x.err != nil })
			now.Add(1)
			tr.Begin()
			close(begun)
			somebody(harmed)
			tr.End()
			now.Add(1)
		}
		busy.Wait()
		p.subject.Wire.Break(0, 0)
		for _, scope := range h.scopes() {
			truth.look(ctx, scope)
		}
		p.subject.Advance(30 * time.Second)
	}
	for _, x := range h.exchanges() {
		met[result(x)]++
	}
	h.check(rep, tr != nil && tr.Mute)
	return rep
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
func (c *commander) client(ctx context.Context, s store.Store, made *random, begun <-chan struct{}) {
	for left := calls; left > 0 && ctx.Err() == nil; left-- {
		select {
		case <-begun:
		default:
			if left = max(left, 4); left == 4 {
				pause(ctx, time.Millisecond)
			}
		}
		made.made.Add(1)
		command, owner := c.command(c.choose(made))
		if reply, ok := c.insist(ctx, s, command); ok {
			c.note(command, owner, reply)
		}
	}
}

// choose chooses a key: mostly one that the client holds.
func (c *commander) choose(made *random) machine.Scope {
	scope := made.scope(c.IntN(keys))
	for range keys {
		if c.known[scope.Digest].owner == c.name || c.one(3) {
			break
		}
		scope = made.scope(c.IntN(keys))
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

// histories checks one random history after the other, with failing I/Os, or with the troubles one after
// the other if there are any.
func (p *troupe) histories(ctx context.Context, r reporter, seed uint64, rounds int, handles []store.Store, troubles []Trouble) {
	met, total := map[string]int{}, tally{}
	order := rand.New(rand.NewPCG(seed, 2))
	for round := range rounds {
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
	if rounds > 0 && met["in doubt"]+met["unavailable"] == 0 {
		r.Errorf("nothing went wrong in %d rounds: %s", rounds, fmt.Sprint(met))
	}
}
