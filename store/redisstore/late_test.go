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
	next, reply := machine.Step(nil, ofGeneration(begin, target.generation), f.now.Time())
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
