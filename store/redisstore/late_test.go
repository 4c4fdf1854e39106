package redisstore

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// A claim finds no record while it may make one, and is held up. When it comes to make it, it is too late: somebody
// else may have been told that none can be made any more, and have gone on to another record of the key.
func TestClaimThatIsLateMakesNothing(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begin := newBegin()
	at := want(t, s, machine.NotFound, machine.Inspect{Scope: begin.Scope}).At
	begin.CreateBefore = at.Add(time.Hour)
	target := newTarget(s, begin.Scope.Digest)
	f, err := s.load(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, reply := machine.Step(nil, begin, f.now.Time())
	if reply.Outcome != machine.Acquired {
		t.Fatal(reply.Outcome)
	}
	f.birth, f.before = f.now, madeBefore(begin)
	d.advance(2 * time.Hour)
	want(t, s, machine.Barred, anotherCaller(begin))
	if done, err := s.swap(t.Context(), target, f, next); done || err != nil {
		t.Errorf("made: %v, %v", done, err)
	}
	want(t, s, machine.Barred, begin)
	want(t, s, machine.NotFound, machine.Inspect{Scope: begin.Scope})

	begin.CreateBefore = at.Add(3 * time.Hour)
	want(t, s, machine.Acquired, begin)
}

// A process remembers what it claimed. Another one finished that, it was forgotten, and a late copy of the same claim
// began the key again: the first process finishes the record that is there, not the one that it remembers.
func TestFinishOfAnotherLife(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	remembers, other := d.open(), d.open()
	begin := newBegin()
	want(t, remembers, machine.Acquired, begin)
	want(t, other, machine.CompletedNow, completion(begin, "answer"))
	d.advance(3 * time.Hour)
	again := begin
	again.Lease = 2 * begin.Lease
	lease := want(t, other, machine.Acquired, again).LeaseEnd
	want(t, remembers, machine.CompletedNow, completion(begin, "another answer"))
	found := want(t, other, machine.Found, machine.Inspect{Scope: begin.Scope})
	if found.LeaseEnd != lease {
		t.Errorf("the lease of the record ends at %v, that of the claim at %v", found.LeaseEnd, lease)
	}
}

// A claim with bounds, as every claim of a guard has one, is made in one round trip, and only within them.
func TestClaimWithBounds(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	for name, older := range map[string]bool{"new": false, "older": true} {
		d := databaseOn(t, server.DSN(1))
		d.options.older = older
		s := d.open()
		at := want(t, s, machine.Acquired, newBegin()).At // what is done for the first time loads a script
		for _, c := range []struct {
			before, from machine.Instant
			want         machine.Outcome
		}{
			{at.Add(time.Hour), 0, machine.Acquired}, {at.Add(time.Hour), at.Add(-time.Hour), machine.Acquired}, {0, at.Add(-time.Hour), machine.Acquired},
			{at, 0, machine.Barred}, {1, 0, machine.Barred}, {at.Add(time.Hour), at.Add(time.Minute), machine.Barred}, {0, at.Add(time.Hour), machine.Barred},
		} {
			begin := newBegin()
			begin.CreateBefore, begin.CreateFrom = c.before, c.from
			server.Do("CONFIG", "RESETSTAT")
			reply := want(t, s, c.want, begin)
			if n := calls(t, server)["evalsha"] + calls(t, server)["eval"]; n != 1 {
				t.Errorf("%s: a claim from %v to %v took %d round trips", name, c.from, c.before, n)
			}
			if c.want == machine.Barred {
				want(t, s, machine.NotFound, machine.Inspect{Scope: begin.Scope})
				continue
			}
			if found := want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope}); found.LeaseEnd != reply.LeaseEnd {
				t.Errorf("%s: the lease of the record ends at %v, that of the claim at %v", name, found.LeaseEnd, reply.LeaseEnd)
			}
			want(t, s, machine.CompletedNow, completion(begin, "answer"))
			want(t, s, machine.Replay, anotherCaller(begin))
		}
	}
}
