package storetest

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// boundary is an instant at which the answer to a claim changes, and what it is on both sides.
type boundary struct {
	name          string
	reach         func(d *database, c *caller)
	at            func(r *machine.Record) machine.Instant
	before, after machine.Outcome
}

var boundaries = []boundary{
	{"lease of a claim", claimed, leaseEnd, machine.InProgress, machine.Takeable},
	{"lease of an execution", executing, leaseEnd, machine.InProgress, machine.RecoveryRequired},
	{"lease of an execution that may rerun", rerun(executing), leaseEnd, machine.InProgress, machine.Takeable},
	{"odd lease", func(d *database, c *caller) {
		c.claim.Lease = time.Minute + 1234567*time.Nanosecond // a part of a microsecond is dropped
		claimed(d, c)
	}, leaseEnd, machine.InProgress, machine.Takeable},
	{"replay window", completed, func(r *machine.Record) machine.Instant { return r.WindowEnd }, machine.Replay, machine.Gone},
	{"window that is as long as the memory", func(d *database, c *caller) {
		executing(d, c)
		completion := c.complete()
		completion.Window = completion.Remember
		c.learn(d.expect(machine.CompletedNow, completion))
	}, forgottenAt, machine.Replay, machine.NotFound},
	{"no window", func(d *database, c *caller) {
		executing(d, c)
		completion := c.complete()
		completion.Window = 0
		c.learn(d.expect(machine.CompletedNow, completion))
	}, forgottenAt, machine.Gone, machine.NotFound},
	{"memory of a completed record", completed, forgottenAt, machine.Gone, machine.NotFound},
	{"memory of a retryable record", failed(true), forgottenAt, machine.Takeable, machine.NotFound},
	{"memory of a claim", claimed, forgottenAt, machine.Takeable, machine.NotFound},
}

func leaseEnd(r *machine.Record) machine.Instant    { return r.LeaseEnd }
func forgottenAt(r *machine.Record) machine.Instant { return r.ForgottenAt() }

// runBoundaries walks over each boundary in steps of a microsecond: a claim and an inspection agree on
// every side of it, and nothing is counted in other units (O10, O43). On a store whose clock runs the
// steps are longer, and the rest is the same.
func runBoundaries(d *database) {
	for _, b := range boundaries {
		c := newCaller(d.scope(b.name), "holder")
		b.reach(d, c)
		record := d.inspect(c.claim.Scope)
		end := b.at(record)
		now := d.apply(machine.Inspect{Scope: c.claim.Scope}).At
		d.advance(end.Sub(now) - 3*time.Microsecond)
		for range 6 {
			found := d.apply(machine.Inspect{Scope: c.claim.Scope})
			d.side(b, end, found, machine.Found)
			if found.Outcome == machine.Found { // else a claim would make a new record
				d.side(b, end, d.apply(withBounds(another(c), 1).claim), 0)
			}
			d.harness.Advance(time.Microsecond)
		}
		if last := d.apply(machine.Inspect{Scope: c.claim.Scope}).At; last < end {
			d.Errorf("%s: the clock did not reach %v", b.name, end)
		}
	}
}

// side judges one reply near a boundary.
func (d *database) side(b boundary, end machine.Instant, reply machine.Reply, inspected machine.Outcome) {
	want := b.before
	if reply.At >= end {
		want = b.after
	}
	switch {
	case inspected == 0 && want == machine.NotFound:
		want = machine.Barred // the claim's bounds keep it from making a record
	case inspected != 0 && want != machine.NotFound:
		want = inspected
	}
	if reply.Outcome != want {
		d.Errorf("%s, %v from its end: %v, want %v", b.name, reply.At.Sub(end), reply.Outcome, want)
	}
}

func withBounds(c *caller, before machine.Instant) *caller {
	c.claim.CreateBefore = before
	return c
}

// runStoreClock shows that only the store's clock counts. No command carries a time of its caller; the
// bounds of a claim are instants of the store's clock (O27).
func runStoreClock(d *database) {
	now := d.apply(machine.Inspect{Scope: d.scope("clock")}).At
	before, from := newCaller(d.scope("before"), "a"), newCaller(d.scope("from"), "b")
	before.claim.CreateBefore, from.claim.CreateFrom = now.Add(lease), now.Add(lease)
	d.refuse(machine.Barred, from.claim)
	d.refuse(machine.Barred, from.begin())
	d.expect(machine.Acquired, before.claim)
	d.expect(machine.Released, before.release())
	d.advance(lease)
	d.refuse(machine.Barred, before.claim)
	d.refuse(machine.Barred, before.begin())
	d.expect(machine.Acquired, from.claim)
	// Bounds are about making records: one that is there is answered as always.
	late := another(from)
	late.claim.CreateFrom = now.Add(100 * lease)
	d.refuse(machine.InProgress, late.claim)
}
