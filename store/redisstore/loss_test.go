package redisstore

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
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

// The versions of the secret are lost with their bucket, also where nothing else is: no process may take the store for a new one,
// and announce its versions anew.
func TestLostSecrets(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	secret := store.Secret{Version: 1, Check: machine.Digest{1}}
	if err := s.AddSecret(t.Context(), secret, time.Minute); err != nil {
		t.Fatal(err)
	}
	generation, err := d.do("GET", s.names.generation(secretsBucket)).ToString()
	if err != nil {
		t.Fatal(err)
	}
	lost := func(who *Store) {
		t.Helper()
		if known, _, err := who.Secrets(t.Context()); !errors.Is(err, store.ErrLost) || len(known) > 0 {
			t.Errorf("versions: %v, %v", known, err)
		}
		if err := who.AddSecret(t.Context(), store.Secret{Version: 2, Check: machine.Digest{2}}, time.Minute); !errors.Is(err, store.ErrLost) {
			t.Errorf("a version is added: %v", err)
		}
		if err := who.RetireSecret(t.Context(), 1); !errors.Is(err, store.ErrLost) {
			t.Errorf("a version is retired: %v", err)
		}
	}
	d.do("DEL", s.names.generation(secretsBucket), s.names.secrets())
	lost(s)
	lost(d.open())
	d.do("SET", s.names.generation(secretsBucket), "another one 1234")
	if _, _, err := s.Secrets(t.Context()); !errors.Is(err, store.ErrLost) {
		t.Errorf("versions, by who knows the old generation: %v", err)
	}
	if n, err := d.do("EXISTS", s.names.secrets()).AsInt64(); err != nil || n != 0 {
		t.Errorf("versions were written into a lost bucket: %d, %v", n, err)
	}
	// Who has been told learns the new generation, and what is there counts.
	d.do("SET", s.names.generation(secretsBucket), generation)
	eventually(t, func() error { _, _, err := s.Secrets(t.Context()); return err })
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

// A server that restarted is another one: what it has may be older than what it acknowledged, and its keys
// do not show it. That goes for who was connected and for who connects, until somebody accepts it.
func TestRestartedRedis(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistAlways})
	d := databaseOn(t, server.DSN(0))
	s := d.open()
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	want(t, s, machine.CompletedNow, completion(begin, "answer"))

	server.Kill()
	server.Restart()
	eventually(t, func() error { // until the server answers again
		_, err := s.Apply(t.Context(), anotherCaller(begin))
		if err == nil {
			t.Fatal("a key was claimed on a restarted server")
		}
		if !errors.Is(err, store.ErrLost) {
			return err
		}
		return nil
	})
	if _, err := Open(t.Context(), d.dsn, d.options); !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "--accept-loss") {
		t.Errorf("open on a restarted server: %v", err)
	}
	if _, err := AcceptLoss(t.Context(), d.dsn, "operator", " ", d.options); err == nil {
		t.Error("a loss was accepted without a reason")
	}
	act, err := AcceptLoss(t.Context(), d.dsn, "operator", "the log was written at every write", d.options)
	if err != nil || act.Buckets != 0 || len(act.Accepted) != 1 {
		t.Fatalf("%+v, %v", act, err)
	}
	for _, who := range []*Store{s, d.open()} {
		if reply := want(t, who, machine.Replay, anotherCaller(begin)); string(reply.Response.Data) != "answer" {
			t.Errorf("replayed %q", reply.Response.Data)
		}
	}
}

// A server that changed its history under open connections, as one does that is made a replica and a primary
// again, is noticed by asking it.
func TestHistoryChangesUnderOpenConnections(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	d := databaseOn(t, server.DSN(0))
	s := d.open()
	s.check(time.Minute)
	want(t, s, machine.Acquired, newBegin())

	server.Do("REPLICAOF", "127.0.0.1", "1") // there is nobody
	server.Do("REPLICAOF", "NO", "ONE")
	s.check(time.Minute)
	eventually(t, func() error { // the first command on a connection finds out that it is given up
		_, err := s.Apply(t.Context(), newBegin())
		if err == nil {
			t.Fatal("a key was claimed on a server that may have lost something")
		}
		if !errors.Is(err, store.ErrLost) {
			return err
		}
		return nil
	})
	if _, err := AcceptLoss(t.Context(), d.dsn, "operator", "nothing was written meanwhile", d.options); err != nil {
		t.Fatal(err)
	}
	begin := newBegin()
	eventually(t, func() error { // the other connections find out too
		_, err := s.Apply(t.Context(), begin)
		return err
	})
}

// A loss that is accepted ends, for processes that run too. What was lost runs again, which is what was accepted.
func TestAcceptedLossOfEverything(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	d.do("FLUSHDB")
	if _, err := s.Apply(t.Context(), begin); !errors.Is(err, store.ErrLost) {
		t.Fatalf("in an emptied Redis: %v", err)
	}
	act, err := AcceptLoss(t.Context(), d.dsn, "operator", "nothing was running", d.options)
	if err != nil || act.Buckets != Buckets {
		t.Fatalf("%+v, %v", act, err)
	}
	if _, err := s.Apply(t.Context(), completion(begin, "answer")); !errors.Is(err, store.ErrLost) {
		t.Errorf("the first command after it was accepted: %v", err)
	}
	want(t, s, machine.NotFound, completion(begin, "answer"))
	want(t, s, machine.Acquired, newBegin())
	kept, err := d.do("LRANGE", d.names.acts(), "0", "-1").AsStrSlice()
	if err != nil || len(kept) != 1 || !strings.Contains(kept[0], `"who":"operator","why":"nothing was running"`) {
		t.Errorf("acts: %v, %v", kept, err)
	}
}

func eventually(t *testing.T, try func() error) {
	t.Helper()
	var err error
	end := time.After(30 * time.Second)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if err = try(); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatal(err)
		}
	}
}
