package redisstore

import (
	"testing"
	"time"

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
