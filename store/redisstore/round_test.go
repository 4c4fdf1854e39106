package redisstore

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// turnOf is the turn of a claim, as a job of a round.
func turnOf(s *Store, begin machine.Begin) *gather.Job[turn] {
	t := newTarget(s, begin.Scope.Digest)
	fresh, _ := newFresh(begin)
	return &gather.Job[turn]{Work: &turn{keys: t.keys, generation: t.generation, packed: fresh.packed}}
}

// finishOf is the turn of what finishes a record that a round has just made.
func finishOf(claim *gather.Job[turn]) *gather.Job[turn] {
	w := *claim.Work
	w.known, w.packed, w.life = identifyingPart(w.packed)[1:], []byte("what it has become"), nominalLife
	return &gather.Job[turn]{Work: &w}
}

// Each caller of a round is told what came of its own turn, in whatever order they came.
func TestRound(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(1))
	s := d.open()
	first, twice, lost := newBegin(), newBegin(), newBegin()
	begun := turnOf(s, first)
	s.round(t.Context(), []*gather.Job[turn]{begun})
	if begun.Err != nil || !begun.Work.done {
		t.Fatalf("a claim alone: %+v, %v", begun.Work, begun.Err)
	}
	d.do("DEL", d.names.generation(bucketOf(lost.Scope.Digest)))
	server.Do("SCRIPT", "FLUSH")
	finish, again, one, other, gone := finishOf(begun), finishOf(begun), turnOf(s, twice), turnOf(s, twice), turnOf(s, lost)
	jobs := []*gather.Job[turn]{finish, gone, one, again, other}
	s.round(t.Context(), jobs)
	for _, j := range jobs {
		if j.Err != nil || j.Work.lost != (j == gone) {
			t.Errorf("%v, lost: %v", j.Err, j.Work.lost)
		}
	}
	if !finish.Work.done || again.Work.done {
		t.Errorf("of two who finish one record, the first: %v, the second: %v", finish.Work.done, again.Work.done)
	}
	if !one.Work.done || other.Work.done || string(other.Work.found) != string(one.Work.packed) {
		t.Errorf("of two who claim one key, the first: %v, the second: %v, which found %q", one.Work.done, other.Work.done, other.Work.found)
	}
}

// What the server refuses of a round by itself is refused for its caller alone.
func TestRoundWithARefusal(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	made, wrong := turnOf(s, newBegin()), turnOf(s, newBegin())
	d.do("LPUSH", wrong.Work.keys[0], "another type")
	s.round(t.Context(), []*gather.Job[turn]{made, wrong})
	if made.Err != nil || !made.Work.done {
		t.Errorf("beside a key of another type: %v", made.Err)
	}
	if !errors.Is(wrong.Err, store.ErrUnavailable) {
		t.Errorf("a key of another type: %v", wrong.Err)
	}
}
