package storetest

import "github.com/reprise-dev/reprise/machine"

// smoke is the life of a key from claim to replay: the first thing to get right in a new store.
func smoke(d *database) {
	first := newCaller(d.scope("smoke"), "first")
	d.expect(machine.NotFound, machine.Inspect{Scope: first.claim.Scope})
	first.learn(d.expect(machine.Acquired, first.claim))
	first.learn(d.expect(machine.Started, first.start()))
	first.learn(d.expect(machine.Renewed, first.renew()))
	first.learn(d.expect(machine.CompletedNow, first.complete()))
	second := newCaller(first.claim.Scope, "second")
	if reply := d.refuse(machine.Replay, second.begin()); string(reply.Response.Data) != "answer" {
		d.Errorf("replayed %q", reply.Response.Data)
	}
}
