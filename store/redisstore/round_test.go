package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// turnOf is the turn of a claim, as a job of a round.
func turnOf(s *Store, begin machine.Begin) *gather.Job[turn] {
	t := newTarget(s, begin.Scope.Digest)
	fresh, _ := newFresh(begin)
	return &gather.Job[turn]{Work: &turn{errand: claims, keys: t.keys, generation: t.generation, packed: fresh.packed}}
}

// finishOf is the turn of what finishes a record that a round has just made.
func finishOf(claim *gather.Job[turn]) *gather.Job[turn] {
	w := *claim.Work
	w.errand, w.known, w.packed, w.life = finishes, identifyingPart(w.packed)[1:], []byte("what it has become"), nominalLife
	return &gather.Job[turn]{Work: &w}
}

// lookOf is the turn of who looks for what another turn is about.
func lookOf(other *gather.Job[turn]) *gather.Job[turn] {
	return &gather.Job[turn]{Work: &turn{errand: looks, keys: other.Work.keys, generation: other.Work.generation}}
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
	seen, unseen := lookOf(begun), lookOf(turnOf(s, newBegin()))
	all := []*gather.Job[turn]{finish, gone, unseen, one, again, seen, other}
	s.round(t.Context(), all)
	for _, j := range all {
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
	if string(seen.Work.found) != string(begun.Work.packed) || seen.Work.until != begun.Work.now+nominalLife {
		t.Errorf("who looks finds %q until %d", seen.Work.found, seen.Work.until)
	}
	if unseen.Work.found != nil || unseen.Work.now == 0 {
		t.Errorf("who looks for nothing finds %q at %d", unseen.Work.found, unseen.Work.now)
	}
}

// What the server refuses of a round by itself is refused for its caller alone.
func TestRoundWithARefusal(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	made, wrong := turnOf(s, newBegin()), turnOf(s, newBegin())
	look := lookOf(wrong)
	d.do("LPUSH", wrong.Work.keys[0], "another type")
	s.round(t.Context(), []*gather.Job[turn]{wrong, look, made})
	if made.Err != nil || !made.Work.done {
		t.Errorf("beside a key of another type: %v", made.Err)
	}
	for _, j := range []*gather.Job[turn]{wrong, look} {
		if !errors.Is(j.Err, store.ErrUnavailable) || errors.Is(j.Err, store.ErrIndeterminate) {
			t.Errorf("a key of another type: %v", j.Err)
		}
	}
}

// A claim makes a record only within its bounds, whoever shares its round and whatever their bounds are.
func TestRoundWithBounds(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	now := want(t, s, machine.NotFound, machine.Inspect{Scope: newBegin().Scope}).At
	for i, bounds := range []struct {
		before, from machine.Instant
		made         bool
	}{{0, 0, true}, {now, 0, false}, {now.Add(time.Hour), 0, true}, {0, now.Add(time.Hour), false}, {0, now, true}, {now.Add(time.Hour), now, true}} {
		beside, bound := turnOf(s, newBegin()), turnOf(s, newBegin())
		bound.Work.before, bound.Work.from = s.bound(bounds.before), s.bound(bounds.from)
		s.round(t.Context(), []*gather.Job[turn]{bound, beside})
		if beside.Err != nil || bound.Err != nil || !beside.Work.done || bound.Work.done != bounds.made || bound.Work.found != nil {
			t.Errorf("%d: %v, %v; made: %v, %v", i, bound.Err, beside.Err, bound.Work.done, beside.Work.done)
		}
	}
}

// Claims that meet records again and again look first, and no longer once they meet none. An answer is the same, and all of it,
// either way.
func TestClaimsLookFirstWhereRecordsAre(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open()
	for _, size := range []int{10, roundFound - 1, roundFound, 3 * roundFound} {
		begin, answer := newBegin(), strings.Repeat("a", size)
		want(t, s, machine.Acquired, begin)
		want(t, s, machine.CompletedNow, completion(begin, answer))
		for i := range habitual + 2 {
			if first := s.habit.looksFirst(); first != (i >= habitual) {
				t.Errorf("after %d records the next claim looks first: %v", i, first)
			}
			if got := want(t, s, machine.Replay, anotherCaller(begin)).Response.Data; string(got) != answer {
				t.Errorf("an answer of %d bytes came back with %d", size, len(got))
			}
		}
		want(t, s, machine.Acquired, newBegin())
		if s.habit.looksFirst() {
			t.Error("after a record that was made the next claim looks first")
		}
	}
}

// Who only looks is never in doubt.
func TestALookIsNotInDoubt(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(1))
	s := d.open()
	look := lookOf(turnOf(s, newBegin()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.roundAlone(ctx, look.Work); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("%v", err)
	}
	server.Kill()
	if err := s.joinRound(t.Context(), look.Work); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("%v", err)
	}
}
