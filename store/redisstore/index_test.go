package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// inIndex reports whether a record is in the index of its bucket.
func (d *database) inIndex(digest machine.Digest) bool {
	d.Helper()
	entries, err := d.do("ZRANGE", d.names.abandoned(bucketOf(digest)), "0", "-1").AsStrSlice()
	if err != nil {
		d.Fatal(err)
	}
	return slices.Contains(entries, string(digest[:]))
}

func unknownFailure(b machine.Begin) machine.Fail {
	return machine.Fail{Hold: completion(b, "").Hold, Reason: "upstream", Remember: time.Hour}
}

func settlement(b machine.Begin, revision uint64, completed bool) machine.Settle {
	s := machine.Settle{
		Scope: b.Scope, Operation: random[machine.ID](), Revision: revision, Completed: completed,
		Remember: time.Hour, Who: "operator", Why: "asked",
	}
	if completed {
		s.Response, s.Window = machine.NewResponse("raw/1", []byte("settled")), time.Hour
	}
	return s
}

// What is written as abandoned is in the index in the same step, whichever way it is written, and out of it when it
// is settled.
func TestAbandonedRecordsAreIndexed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	owner, other := d.open(), d.open()
	for _, who := range []*Store{owner, other} { // the other knows nothing of what was begun
		for _, completed := range []bool{true, false} {
			begin := newBegin()
			want(t, owner, machine.Acquired, begin)
			if d.inIndex(begin.Scope.Digest) {
				t.Error("in the index from the beginning")
			}
			want(t, who, machine.Failed, unknownFailure(begin))
			if !d.inIndex(begin.Scope.Digest) {
				t.Error("not in the index")
			}
			want(t, other, machine.SettledNow, settlement(begin, 2, completed))
			if d.inIndex(begin.Scope.Digest) {
				t.Error("in the index after it was settled")
			}
		}
	}
	noEffect := newBegin()
	want(t, owner, machine.Acquired, noEffect)
	failure := unknownFailure(noEffect)
	failure.NoEffect = true
	want(t, owner, machine.Failed, failure)
	if d.inIndex(noEffect.Scope.Digest) {
		t.Error("a failure without effect is in the index")
	}
}

// An effect that failed after it had written something is in the index too.
func TestAbandonedEffectsAreIndexed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	e := newEffect(t, "redis.call('SET', KEYS[1], 'something')\nerror('broken')")
	var failed *EffectError
	if _, err := e.Do(t.Context(), s, invocation("a key", "tag"), []string{d.business("tag", "x")}); !errors.As(err, &failed) || !failed.Unknown {
		t.Fatal(err)
	}
	if !d.inIndex(failed.Scope.Digest) {
		t.Error("not in the index")
	}
}

// A claim that meets an interrupted execution adds it to the index; who settles it removes it.
func TestClaimsIndexInterruptedExecutions(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	for name, claim := range map[string]func(b machine.Begin) machine.Command{
		"a claim": func(b machine.Begin) machine.Command { return anotherCaller(b).Claim },
		"a begin": func(b machine.Begin) machine.Command { return anotherCaller(b) },
	} {
		begin := newBegin()
		if _, err := s.Apply(t.Context(), begin); err != nil {
			t.Fatal(err)
		}
		d.advance(begin.Lease)
		if d.inIndex(begin.Scope.Digest) {
			t.Error("in the index before it was met")
		}
		want(t, s, machine.RecoveryRequired, claim(begin))
		if !d.inIndex(begin.Scope.Digest) {
			t.Errorf("not in the index after %s", name)
		}
		d.do("DEL", d.names.abandoned(bucketOf(begin.Scope.Digest)))
		want(t, s, machine.RecoveryRequired, claim(begin))
		if d.inIndex(begin.Scope.Digest) {
			t.Error("the same process added it twice")
		}
		want(t, d.open(), machine.RecoveryRequired, claim(begin))
		want(t, s, machine.SettledNow, settlement(begin, 1, true))
		if d.inIndex(begin.Scope.Digest) {
			t.Error("in the index after it was settled")
		}
	}
}

// Entries that do not fit their records any more are not listed, and are removed when a listing meets them.
func TestStaleEntriesAreRemoved(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	completed, renewed, gone, void, abandoned := newBegin(), newBegin(), newBegin(), newBegin(), newBegin()
	for _, b := range []machine.Begin{completed, renewed, gone, void, abandoned} {
		if _, err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	d.advance(completed.Lease)
	for _, b := range []machine.Begin{completed, renewed} {
		want(t, s, machine.RecoveryRequired, anotherCaller(b))
	}
	for _, b := range []machine.Begin{gone, void, abandoned} {
		want(t, s, machine.Failed, unknownFailure(b))
	}
	want(t, s, machine.CompletedNow, completion(completed, "late"))
	want(t, s, machine.Renewed, machine.Renew{Hold: completion(renewed, "").Hold, Lease: time.Hour})
	d.do("DEL", d.record(gone.Scope.Digest))
	d.do("RENAME", d.record(void.Scope.Digest), d.names.record(void.Scope.Digest, machine.Generation{1, 2, 3, 4}))

	page, err := s.List(t.Context(), store.Filter{States: []machine.State{machine.Abandoned}}, "", 100)
	if err != nil || len(page.Records) != 1 || page.Records[0].Scope.Digest != abandoned.Scope.Digest || len(page.Unreadable) > 0 {
		t.Errorf("%+v, %v; want the one that is abandoned", page, err)
	}
	for name, b := range map[string]machine.Begin{"completed": completed, "renewed": renewed, "gone": gone, "void": void} {
		if d.inIndex(b.Scope.Digest) {
			t.Errorf("the one that is %s is still in the index", name)
		}
	}
	if !d.inIndex(abandoned.Scope.Digest) {
		t.Error("the one that is abandoned is not in the index any more")
	}
}

// What is decided about an entry holds only for the record that was read.
func TestIndexComparesTheRecord(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	read, err := s.glance(t.Context(), []machine.Digest{begin.Scope.Digest}, machine.Executing)
	if err != nil {
		t.Fatal(err)
	}
	executing := read[0]
	want(t, s, machine.Failed, unknownFailure(begin))
	if done, err := s.index(t.Context(), executing.target, executing.found, removeFromIndex); done || err != nil || !d.inIndex(begin.Scope.Digest) {
		t.Errorf("removed for a record that is another one by now: %v, %v", done, err)
	}
	if done, err := s.index(t.Context(), executing.target, found{}, removeFromIndex); done || err != nil || !d.inIndex(begin.Scope.Digest) {
		t.Errorf("removed for an absent record: %v, %v", done, err)
	}
	d.do("DEL", d.names.generation(executing.bucket))
	if _, err := s.index(t.Context(), executing.target, executing.found, removeFromIndex); !errors.Is(err, store.ErrLost) {
		t.Errorf("in a lost bucket: %v", err)
	}
}

// The index is read in the order of the digests, over all buckets, as many at a time as are wanted.
func TestIndexIsInOrder(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	var all []machine.Digest
	for i := range 40 {
		digest := random[machine.Digest]()
		if i%4 == 0 {
			digest[0], digest[1] = 200, 7 // several in one bucket
		}
		all = append(all, digest)
		d.do("ZADD", d.names.abandoned(bucketOf(digest)), "0", string(digest[:]))
	}
	slices.SortFunc(all, func(a, b machine.Digest) int { return slices.Compare(a[:], b[:]) })
	for _, limit := range []int{1, 7, 40, 41} {
		var got []machine.Digest
		after := machine.Digest{}
		for {
			next, err := s.indexed(t.Context(), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, next...)
			if len(next) < limit {
				break
			}
			after = next[limit-1]
		}
		if fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("by %d: %v, want %v", limit, got, all)
		}
	}
}
