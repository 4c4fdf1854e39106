package storetest

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// command makes the next random command.
func (g *generator) command(m model) machine.Command {
	scope := pick(g, g.scopes...)
	if last := g.last[scope.Digest]; last != nil && g.one(6) {
		return g.again(last)
	}
	r := m[scope.Digest]
	c := g.caller(scope, r)
	if r != nil && r.State == machine.Claimed && g.one(2) {
		return machine.Start{Hold: c.hold, Lease: g.lease()}
	}
	switch g.IntN(15) {
	case 0, 1:
		return c.claim
	case 2, 3, 4:
		return c.begin()
	case 5:
		return machine.Start{Hold: c.hold, Lease: g.lease()}
	case 6:
		return machine.Renew{Hold: c.hold, Lease: g.lease()}
	case 7, 8:
		completion := c.complete()
		completion.Response, completion.Window = g.response(), pick(g, 0, time.Minute, window)
		completion.Remember = pick(g, remember, window, completion.Window+time.Millisecond)
		return completion
	case 9, 10:
		failure := c.fail(g.one(2))
		failure.Reason, failure.Remember = pick(g, "", "upstream"), pick(g, remember, time.Second)
		failure.Evidence = pick(g, machine.Response{}, g.response())
		return failure
	case 11:
		return c.release()
	case 12:
		decision := c.settle(g.one(2))
		decision.Operation, decision.Why = operation(g.name()), pick(g, "w", "y")
		decision.Response, decision.Remember = g.response(), pick(g, remember, window)
		return decision
	case 13:
		return machine.Inspect{Scope: scope}
	}
	return machine.Forget{Scope: scope}
}

// again repeats a command, sometimes with something changed.
func (g *generator) again(command machine.Command) machine.Command {
	if g.one(2) {
		return command
	}
	switch c := command.(type) {
	case machine.Begin:
		c.Nonce = nonce(pick(g, "a", "b"))
		return c
	case machine.Renew:
		c.Lease = g.lease()
		return c
	case machine.Complete:
		if g.one(2) {
			c.Response = g.response()
		}
		c.Remember += pick(g, 0, time.Second)
		return c
	case machine.Fail:
		c.NoEffect = c.NoEffect != g.one(4)
		c.Remember += pick(g, 0, time.Second)
		return c
	case machine.Settle:
		c.Completed = c.Completed != g.one(4)
		c.Remember += pick(g, 0, time.Second)
		return c
	}
	return command
}

// caller is somebody who knows the record well, or nearly, or as it was one change ago.
func (g *generator) caller(scope machine.Scope, r *machine.Record) *caller {
	c := newCaller(scope, g.name())
	c.claim.Operation = operation(pick(g, "a", "a", "a", "b"))
	c.claim.Lease, c.claim.Interruption = g.lease(), pick(g, machine.Quarantine, machine.Rerun)
	c.claim.Policy = pick(g, uint32(2), 3, 3)
	c.claim.Codecs = pick(g, c.claim.Codecs, c.claim.Codecs, c.claim.Codecs[:1])
	if g.one(10) {
		otherRequest(c)
	} else if g.one(10) {
		unknownFingerprint(c)
	}
	if g.one(8) {
		c.claim.CreateBefore, c.claim.CreateFrom = pick(g, 0, g.now), pick(g, 0, g.now.Add(time.Second))
	}
	c.hold.Operation, c.hold.Nonce = c.claim.Operation, nonce(pick(g, "a", "a", "a", "b"))
	if r == nil {
		return c
	}
	c.hold.Attempt = max(1, r.Attempt-pick(g, uint32(0), 0, 0, 0, 1))
	c.hold.Revision = max(1, r.Revision-pick(g, uint64(0), 0, 1))
	c.claim.Seen = pick(g, 0, r.Revision, r.Revision, r.Revision-1)
	for _, name := range []string{"a", "b", "c"} { // mostly the owner itself
		if token(name).Digest() == r.Owner && !g.one(4) {
			c.claim.Owner, c.hold.Owner = token(name), token(name)
		}
	}
	return c
}

func (g *generator) lease() time.Duration {
	return pick(g, time.Millisecond, time.Second, time.Minute, time.Minute)
}

func (g *generator) response() machine.Response {
	r := machine.NewResponse(pick(g, "text/1", "text/1", "http/1"), []byte(pick(g, "", "x", "y")))
	r.NotKept = g.one(6)
	return r
}
