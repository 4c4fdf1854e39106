package redisstore

import (
	"errors"
	"strconv"
	"testing"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A count of many keys is an estimate, and says so; what is known to be abandoned is counted exactly.
func TestLargeStoresAreEstimated(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	d.answer(s, 3000, "answer")
	d.claims(s, 1000)
	unknown := newBegin()
	want(t, s, machine.Acquired, unknown)
	want(t, s, machine.Failed, unknownFailure(unknown))

	counts, err := s.count(t.Context(), 1000)
	if err != nil || !counts.Sampled || counts.At.IsZero() {
		t.Fatalf("%+v, %v", counts, err)
	}
	for state, there := range map[machine.State]int64{machine.Completed: 3000, machine.Claimed: 1000} {
		if n := counts.States[state]; n < there*6/10 || n > there*14/10 {
			t.Errorf("%v: %d estimated, there are %d", state, n, there)
		}
	}
	if n := counts.States[machine.Abandoned]; n != 1 {
		t.Errorf("%d abandoned, want 1", n)
	}
	counts, err = s.count(t.Context(), 100_000)
	if err != nil || counts.Sampled || counts.States[machine.Completed] != 3000 || counts.States[machine.Claimed] != 1000 || counts.States[machine.Abandoned] != 1 {
		t.Errorf("all of them: %+v, %v", counts, err)
	}
}

// In a Cluster every server's keys are counted, listed and swept.
func TestEveryServerOfAClusterIsScanned(t *testing.T) {
	t.Parallel()
	d := databaseOn(t, servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1}).DSN())
	s := d.open()
	begins := d.answer(s, 300, "answer")
	interrupted := d.interrupted(s)
	counts, err := s.Count(t.Context())
	if err != nil || counts.Sampled || counts.States[machine.Completed] != 300 || counts.States[machine.Abandoned] != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	sc, err := s.newScan(t.Context())
	if err != nil || len(sc.nodes) != 3 {
		t.Fatalf("%d servers are scanned, %v", len(sc.nodes), err)
	}
	page, err := s.List(t.Context(), abandonedOnly, "", 10)
	if err != nil || page.Partial || len(page.Records) != 1 || page.Records[0].Scope.Digest != interrupted.Scope.Digest {
		t.Errorf("%+v, %v; want the interrupted one", page, err)
	}
	found := map[machine.Digest]bool{}
	for !sc.done() {
		digests, next, err := sc.peek(t.Context(), scanStep)
		if err != nil {
			t.Fatal(err)
		}
		for _, digest := range digests {
			found[digest] = true
		}
		sc.advance(next)
	}
	for _, b := range append(begins, interrupted) {
		if !found[b.Scope.Digest] {
			t.Errorf("%v was not met", b.Scope.Digest)
		}
	}
}

// A server that tells its time in a form that is not known is not at the beginning of all times: nothing is counted, listed or swept by that.
func TestTimeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open()
	for name, reply := range map[string]string{"nothing": "{}", "seconds alone": "{1700000000}", "more": "{1700000000, 1, 2}", "none": "{0, 0}", "before": "{-1, 0}", "a text": "'now'"} {
		s.scripts.time = rueidis.NewLuaScript("return " + reply)
		if at, err := s.now(t.Context()); !errors.Is(err, store.ErrUnavailable) || !at.IsZero() {
			t.Errorf("%s: %v, %v", name, at, err)
		}
		if counts, err := s.Count(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: counted %+v, %v", name, counts, err)
		}
	}
}
