package redisstore

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// everyCommand is one of each kind, on the record that was begun.
func everyCommand(b machine.Begin) []machine.Command {
	hold := completion(b, "").Hold
	return []machine.Command{
		b, b.Claim, anotherCaller(b), completion(b, "answer"), machine.Start{Hold: hold, Lease: b.Lease}, machine.Renew{Hold: hold, Lease: b.Lease},
		machine.Fail{Hold: hold, NoEffect: true, Remember: b.Lease}, machine.Release{Hold: hold}, machine.Inspect{Scope: b.Scope}, machine.Forget{Scope: b.Scope},
		machine.Settle{Scope: b.Scope, Operation: b.Operation, Revision: 1, Remember: b.Lease, Who: "w", Why: "y"},
	}
}

// An emptied Redis knows no key, and nothing may be taken for new in it: not by who was connected, not by who
// connects, and not after a deployment, because nothing but an operator's act makes a generation.
func TestEmptiedRedis(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	answered, running := newBegin(), newBegin()
	want(t, s, machine.Acquired, answered)
	want(t, s, machine.CompletedNow, completion(answered, "answer"))
	want(t, s, machine.Acquired, running)

	d.do("FLUSHDB")
	for _, b := range []machine.Begin{answered, running, newBegin()} {
		for _, command := range everyCommand(b) {
			if reply, err := s.Apply(t.Context(), command); !errors.Is(err, store.ErrLost) || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v in an emptied Redis: %v, %v", command.Kind(), reply.Outcome, err)
			}
		}
	}
	if n, err := d.do("DBSIZE").AsInt64(); n != 0 || err != nil {
		t.Errorf("%d keys were written into an emptied Redis, %v", n, err)
	}
	if _, err := Open(t.Context(), d.dsn, d.options); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open on an emptied Redis: %v", err)
	}
}

// A bucket that comes back empty is lost, and the others go on.
func TestOneLostBucket(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	lost, kept := newBegin(), newBegin()
	kept.Scope.Digest[0] = lost.Scope.Digest[0] ^ 0xff
	for _, b := range []machine.Begin{lost, kept} {
		want(t, s, machine.Acquired, b)
	}
	d.do("DEL", s.names.generation(bucketOf(lost.Scope.Digest)))
	for _, who := range []*Store{s, d.open()} {
		for _, command := range everyCommand(lost) {
			if reply, err := who.Apply(t.Context(), command); !errors.Is(err, store.ErrLost) {
				t.Errorf("%v in a lost bucket: %v, %v", command.Kind(), reply.Outcome, err)
			}
		}
	}
	want(t, s, machine.CompletedNow, completion(kept, "answer"))
}

// Records of another generation count as absent, for whoever knows the new one; who knows the old one has lost
// them.
func TestRecordsOfAnotherGenerationAreVoid(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	before := d.open()
	begin := newBegin()
	want(t, before, machine.Acquired, begin)
	want(t, before, machine.CompletedNow, completion(begin, "answer"))

	generation := before.names.generation(bucketOf(begin.Scope.Digest))
	d.do("SET", generation, "another one 1234")
	if _, err := before.Apply(t.Context(), anotherCaller(begin)); !errors.Is(err, store.ErrLost) {
		t.Errorf("a claim by who knows the old generation: %v", err)
	}
	after := d.open()
	want(t, after, machine.NotFound, machine.Inspect{Scope: begin.Scope})
	again := anotherCaller(begin)
	want(t, after, machine.Acquired, again)
	want(t, after, machine.CompletedNow, completion(again, "another answer"))
	if reply := want(t, after, machine.Replay, anotherCaller(begin)); string(reply.Response.Data) != "another answer" {
		t.Errorf("replayed %q", reply.Response.Data)
	}
}

// A store is made once.
func TestInitNewRefuses(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	generation := func() string {
		text, err := d.do("GET", d.names.generation(7)).ToString()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := generation()
	if err := InitNew(t.Context(), d.dsn, d.options); err == nil {
		t.Error("a store was made where there is one")
	}
	if generation() != before {
		t.Error("a refused init changed a generation")
	}
}
