package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// group is a server with two replicas, and a store whose changes one of them has to confirm.
type group struct {
	*database
	master   *servicetest.RedisServer
	replicas []*servicetest.RedisServer
	store    *Store
}

func newGroup(t *testing.T) *group {
	t.Helper()
	g := &group{master: servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistSnapshots})}
	g.replicas = []*servicetest.RedisServer{g.master.Replica(), g.master.Replica()}
	g.database = databaseOn(t, g.master.DSN(0), "&wait=1&replicas=2")
	g.store = g.open()
	g.known(2)
	return g
}

// known waits until so many replicas were seen, and the replicas know that.
func (d *database) known(n int) {
	d.Helper()
	eventually(d.TB.(*testing.T), func() error {
		list, err := d.do("GET", d.names.replicas()).ToString()
		if seen := len(strings.Fields(list)); seen != n {
			return fmt.Errorf("%d replicas were seen, want %d: %v", seen, n, err)
		}
		return nil
	})
}

// at opens the store on one of the servers.
func (g *group) at(server *servicetest.RedisServer) (*Store, error) {
	_, more, _ := strings.Cut(g.dsn, "?")
	s, err := Open(g.Context(), server.DSN(0)+"?"+more, g.options)
	if err == nil {
		g.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// answered makes a record that is acknowledged.
func (g *group) answered() machine.Begin {
	g.Helper()
	begin := newBegin()
	want(g, g.store, machine.Acquired, begin)
	want(g, g.store, machine.CompletedNow, completion(begin, "answer"))
	return begin
}

// What no replica has confirmed is not acknowledged, nor is what another caller is told of it. Once a replica has it,
// the same command is answered as if nothing had been lost.
func TestNothingIsAcknowledgedBeforeReplicasHaveIt(t *testing.T) {
	t.Parallel()
	master := servicetest.NewRedis(t, servicetest.RedisOptions{})
	replica := master.Replica()
	d := databaseOn(t, master.DSN(0), "&wait=1")
	s, other := d.open(), d.open()
	begin, v := newBegin(), invocation("held", "tag")
	want(t, s, machine.Acquired, begin)
	kept, err := newEffect(t, increment).Held().Do(t.Context(), s, v, []string{d.business("tag", "n")}, "0")
	if err != nil {
		t.Fatal(err)
	}
	replica.Pause()
	unconfirmed := func(s *Store, command machine.Command) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if reply, err := s.Apply(ctx, command); !errors.Is(err, store.ErrIndeterminate) || reply.Outcome != 0 {
			t.Errorf("%v without a replica: %v, %v", command.Kind(), reply.Outcome, err)
		}
	}
	unconfirmed(s, completion(begin, "answer"))
	unconfirmed(s, completion(begin, "answer")) // by now it is a retry
	unconfirmed(other, anotherCaller(begin))
	unconfirmed(other, machine.Inspect{Scope: begin.Scope})
	e := newEffect(t, increment)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := e.Do(ctx, s, invocation("key", "tag"), []string{d.business("tag", "n")}, "1"); !errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("an effect without a replica: %+v, %v", got, err)
	}
	released := []machine.Digest{kept.Scope.Digest}
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Release(ctx, released, v.Remember); !errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("a release without a replica: %v", err)
	}
	replica.Resume()
	replica.AwaitSync(master)
	want(t, s, machine.AlreadyCompleted, completion(begin, "answer"))
	want(t, other, machine.Replay, anotherCaller(begin))
	if got, err := e.Do(t.Context(), s, invocation("key", "tag"), []string{d.business("tag", "n")}, "1"); err != nil || string(got.Response.Data) != "now 1" {
		t.Errorf("the effect again: %+v, %v", got, err)
	}
	if n, err := s.Release(t.Context(), released, v.Remember); err != nil || n != 0 {
		t.Errorf("released again: %d, %v", n, err)
	}
}

// What is recorded is replayed where there is no memory left to record more.
func TestReplaysWithoutMemory(t *testing.T) {
	t.Parallel()
	master := servicetest.NewRedis(t, servicetest.RedisOptions{})
	master.Replica()
	s := databaseOn(t, master.DSN(0), "&wait=1").open()
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	want(t, s, machine.CompletedNow, completion(begin, "answer"))
	master.Config("maxmemory", "1")
	for range habitual + 2 { // a look in a transaction is refused, too
		want(t, s, machine.Replay, anotherCaller(begin))
	}
	if _, err := s.Apply(t.Context(), newBegin()); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("a new key without memory: %v", err)
	}
}

// A replica that is promoted is accepted by itself where another one is shown to have no more than it.
func TestPromotedReplicaThatHasEverythingAcknowledged(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	begin := g.answered()
	promoted, other := g.replicas[0], g.replicas[1]
	promoted.AwaitSync(g.master)
	g.master.Kill()
	promoted.Promote()
	if _, err := g.at(promoted); !errors.Is(err, store.ErrLost) {
		t.Fatalf("while nobody knows what the other replica has: %v", err)
	}
	other.Follow(promoted.Addr())
	s, err := g.at(promoted)
	if err != nil {
		t.Fatal(err)
	}
	want(t, s, machine.Replay, anotherCaller(begin))
	list, err := s.client.Do(t.Context(), s.client.B().Get().Key(s.names.identities(7)).Build()).ToString()
	if kept := parseRoster(list); err != nil || len(kept.identities) != 2 || kept.terms != (terms{1, 2}) {
		t.Errorf("kept is %q, %v", list, err)
	}
}

// A replica that may lack what was acknowledged is not accepted by itself, for whichever reason.
func TestPromotedReplicaThatMayLackSomething(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(g *group, promoted, other *servicetest.RedisServer)
		why  string
	}{
		"the one that has it is gone": {func(g *group, promoted, other *servicetest.RedisServer) {
			promoted.Unlink()
			g.answered()
			g.master.Kill()
			other.Kill()
			promoted.Promote()
		}, "0 of 2 replicas"},
		"the one that has it follows it": {func(g *group, promoted, other *servicetest.RedisServer) {
			promoted.Unlink()
			g.answered()
			g.master.Kill()
			promoted.Promote()
			other.Follow(promoted.Addr())
		}, "0 of 2 replicas"},
		"it was restarted": {func(g *group, promoted, other *servicetest.RedisServer) {
			promoted.Do("SAVE")
			g.answered()
			g.master.Kill()
			promoted.Kill()
			promoted.Restart()
			promoted.Promote()
		}, "not seen as a replica"},
		"the other one was restarted": {func(g *group, promoted, other *servicetest.RedisServer) {
			g.answered()
			promoted.AwaitSync(g.master)
			other.Do("SAVE")
			g.master.Kill()
			other.Kill()
			other.Restart()
			promoted.Promote()
			other.Follow(promoted.Addr())
		}, "0 of 2 replicas"},
		"there are more than the DSN says": {func(g *group, promoted, other *servicetest.RedisServer) {
			third := g.master.Replica()
			g.store.check(time.Minute)
			promoted.AwaitSync(g.master)
			g.master.Kill()
			promoted.Promote()
			other.Follow(promoted.Addr())
			third.Kill()
		}, "not seen as a replica"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t)
			promoted, other := g.replicas[0], g.replicas[1]
			promoted.AwaitSync(g.master)
			c.harm(g, promoted, other)
			_, err := g.at(promoted)
			if !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, want %s", err, c.why)
			}
		})
	}
}

// With one replica, that one has everything that was acknowledged. A primary that is restarted from an older dump names its
// history just as a promoted replica does, and is told from it.
func TestTheOnlyReplica(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *group {
		g := &group{master: servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistSnapshots})}
		g.replicas = []*servicetest.RedisServer{g.master.Replica()}
		g.database = databaseOn(t, g.master.DSN(0), "&wait=1&replicas=1")
		g.store = g.open()
		g.known(1)
		return g
	}
	t.Run("is promoted", func(t *testing.T) {
		t.Parallel()
		g := start(t)
		begin := g.answered()
		g.master.Kill()
		g.replicas[0].Promote()
		s, err := g.at(g.replicas[0])
		if err != nil {
			t.Fatal(err)
		}
		g.replicas[0].Replica() // which confirms from now on
		eventually(t, func() error {
			_, err := s.Apply(t.Context(), anotherCaller(begin))
			return err
		})
		want(t, s, machine.Replay, anotherCaller(begin))
	})
	t.Run("is not the primary from a dump", func(t *testing.T) {
		t.Parallel()
		g := start(t)
		g.master.Do("SAVE")
		g.answered()
		g.master.Kill()
		g.master.Restart()
		if _, err := g.at(g.master); !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "not seen as a replica") {
			t.Errorf("a primary that was restarted from an older dump: %v", err)
		}
	})
}

// All processes of a store wait for the same: each relies on the others.
func TestTermsAreTheSameForAll(t *testing.T) {
	t.Parallel()
	master := servicetest.NewRedis(t, servicetest.RedisOptions{})
	master.Replica()
	d := databaseOn(t, master.DSN(0), "&wait=1&replicas=1")
	d.open()
	right := d.dsn
	for _, wrong := range []string{"", "&wait=1", "&wait=1&replicas=2"} {
		dsn, _, _ := strings.Cut(right, "&")
		if _, err := Open(t.Context(), dsn+wrong, d.options); err == nil || !strings.Contains(err.Error(), "wait=1&replicas=1") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	d.dsn, _, _ = strings.Cut(right, "&")
	if _, err := AcceptLoss(t.Context(), d.dsn, "operator", "no replica from now on", d.options); err != nil {
		t.Fatal(err)
	}
	d.open()
}

// A primary is killed under load. Its successor is accepted by itself, nothing that was acknowledged is missing, and nothing
// was done twice.
func TestUnplannedFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	sentinel := servicetest.NewSentinel(t, servicetest.SentinelOptions{Replicas: 2})
	d := databaseOn(t, sentinel.DSN(), "&wait=1&replicas=2")
	tags := []string{"account 7", "account 8"}
	var done []*atomic.Int64
	var stop []func()
	for _, tag := range tags {
		counted, end := d.traffic(d.open(), tag)
		done, stop = append(done, counted), append(stop, end)
	}
	for _, counted := range done {
		awaitMore(t, counted)
	}
	d.known(2)
	master := sentinel.Master()
	master.Kill()
	sentinel.AwaitFailover(master)
	for _, counted := range done {
		awaitMore(t, counted)
	}
	for i, tag := range tags {
		stop[i]()
		if n := d.number(d.business(tag, "counter")); n != done[i].Load() {
			t.Errorf("%d keys were counted as %d", done[i].Load(), n)
		}
	}
}

// In a cluster each server has replicas of its own. One of them that is promoted waits for an operator: slots may have
// moved to its primary.
func TestWaitingInACluster(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1})
	d := databaseOn(t, cluster.DSN(), "&wait=1&replicas=1")
	s := d.open()
	const tag = "account 7"
	done, stop := d.traffic(s, tag)
	awaitMore(t, done)
	counter := d.business(tag, "counter")
	cluster.Failover(counter) // a planned one is accepted all the same
	awaitMore(t, done)
	stop()
	if n := d.number(counter); n != done.Load() {
		t.Errorf("%d keys were counted as %d", done.Load(), n)
	}
	for range 20 { // in all slots
		begin := newBegin()
		want(t, s, machine.Acquired, begin)
		want(t, s, machine.CompletedNow, completion(begin, "answer"))
		want(t, s, machine.Replay, anotherCaller(begin))
	}
	master := cluster.Master(counter)
	master.Kill()
	cluster.AwaitFailover(counter, master)
	eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := s.Apply(ctx, machine.Inspect{Scope: invocation("key", tag).Candidates[0].Scope})
		if err == nil {
			t.Fatal("the promoted server was accepted")
		}
		if !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "in a cluster") {
			return err
		}
		return nil
	})
}
