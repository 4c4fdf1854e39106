package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// marked waits until a record carries the mark of somebody who waits.
func (d *database) marked(digest machine.Digest) {
	d.Helper()
	eventually(d.TB.(*testing.T), func() error {
		first, err := d.do("GETRANGE", d.record(digest), "0", "0").ToString()
		if err == nil && (first == "" || first[0]&awaited == 0) {
			err = fmt.Errorf("%v is not marked", digest)
		}
		return err
	})
}

// listening waits until so many listen to the channel of changes.
func (d *database) listening(n int64) {
	d.Helper()
	eventually(d.TB.(*testing.T), func() error {
		total := int64(0)
		for _, node := range d.client.Nodes() {
			counts, err := node.Do(d.Context(), node.B().PubsubNumsub().Channel(d.names.changes()).Build()).AsIntMap()
			if err != nil {
				return err
			}
			total += counts[d.names.changes()]
		}
		if total != n {
			return fmt.Errorf("%d listen, want %d", total, n)
		}
		return nil
	})
}

// What another process does to a record wakes those who wait for it in this one, wherever the record is.
func TestChangesOfOtherProcessesWake(t *testing.T) {
	t.Parallel()
	for topology, start := range map[string]func(t *testing.T) string{
		"standalone": func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
		"sentinel":   topologies()["sentinel"],
		"cluster": func(t *testing.T) string {
			return servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1}).DSN()
		},
	} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			d := databaseOn(t, start(t))
			here, there := d.open(), d.open()
			for name, end := range map[string]func(b machine.Begin){
				"a completion": func(b machine.Begin) { want(t, there, machine.CompletedNow, completion(b, "answer")) },
				"an unknown":   func(b machine.Begin) { want(t, there, machine.Failed, unknownFailure(b)) },
				"a renewal": func(b machine.Begin) {
					want(t, there, machine.Renewed, machine.Renew{Hold: completion(b, "").Hold, Lease: time.Hour})
				},
				"a completion by a process that remembers nothing": func(b machine.Begin) {
					want(t, d.open(), machine.CompletedNow, completion(b, "answer"))
				},
			} {
				begin := newBegin()
				want(t, there, machine.Acquired, begin)
				changed, stop := here.Watch(begin.Scope, 1)
				d.listening(1)
				d.marked(begin.Scope.Digest)
				end(begin)
				t.Logf("waiting to be woken by %s", name) // says where it hangs
				<-changed
				stop()
			}
			begin := newBegin()
			want(t, there, machine.Acquired, begin.Claim)
			changed, stop := here.Watch(begin.Scope, 1)
			defer stop()
			d.marked(begin.Scope.Digest)
			hold := completion(begin, "").Hold
			want(t, there, machine.Released, machine.Release{Hold: hold})
			t.Log("waiting to be woken by a release")
			<-changed
		})
	}
}

// A mark changes nothing of a record for anybody, and what is written next carries none.
func TestMarkedRecordsAreTheSame(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	here, there := d.open(), d.open()
	begin := newBegin()
	want(t, there, machine.Acquired, begin)
	_, stop := here.Watch(begin.Scope, 1)
	defer stop()
	d.marked(begin.Scope.Digest)
	want(t, there, machine.InProgress, anotherCaller(begin))
	if r := want(t, here, machine.Found, machine.Inspect{Scope: begin.Scope}).Record; r.State != machine.Executing || r.Revision != 1 {
		t.Errorf("a marked record is read as %+v", r)
	}
	page, err := here.List(t.Context(), abandonedOnly, "", 10)
	if err != nil || len(page.Records)+len(page.Unreadable) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	want(t, there, machine.CompletedNow, completion(begin, "answer"))
	first, err := d.do("GETRANGE", d.record(begin.Scope.Digest), "0", "0").ToString()
	if err != nil || first != string(rune(form<<formShift|machine.Completed)) {
		t.Errorf("what was written begins with %q, %v", first, err)
	}
	want(t, here, machine.Replay, anotherCaller(begin))
}

// Nothing is told where nobody waits.
func TestNobodyIsToldWithoutNeed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	told := make(chan string, 10)
	heard := rueidis.WithOnSubscriptionHook(t.Context(), func(rueidis.PubSubSubscription) { told <- "listening" })
	go func() {
		_ = d.client.Receive(heard, d.client.B().Subscribe().Channel(d.names.changes()).Build(), func(m rueidis.PubSubMessage) { told <- m.Message })
	}()
	<-told
	quiet, watched := newBegin(), newBegin()
	for _, begin := range []machine.Begin{quiet, watched} {
		want(t, s, machine.Acquired, begin)
	}
	_, stop := d.open().Watch(watched.Scope, 1)
	defer stop()
	d.marked(watched.Scope.Digest)
	for _, begin := range []machine.Begin{quiet, watched} {
		want(t, s, machine.CompletedNow, completion(begin, "answer"))
	}
	if first := <-told; first != string(watched.Scope.Digest[:]) {
		t.Errorf("the first that was told is %x", first)
	}
}

// A subscription that is cut off is made again, and whoever waits meanwhile is woken all the same.
func TestListeningSurvivesALostConnection(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(1))
	here, there := d.open(), d.open()
	begin := newBegin()
	want(t, there, machine.Acquired, begin)
	changed, stop := here.Watch(begin.Scope, 1)
	defer stop()
	d.listening(1)
	server.Do("CLIENT", "KILL", "TYPE", "pubsub")
	eventually(t, func() error {
		reply, err := there.Apply(t.Context(), completion(begin, "answer"))
		if err == nil && !reply.Outcome.Applied() && reply.Outcome != machine.AlreadyCompleted {
			err = errors.New(reply.Outcome.String())
		}
		return err
	})
	<-changed
	again := newBegin()
	want(t, there, machine.Acquired, again)
	changed, stop = here.Watch(again.Scope, 1)
	defer stop()
	d.listening(1)
	d.marked(again.Scope.Digest)
	want(t, there, machine.CompletedNow, completion(again, "answer"))
	<-changed
}

// Who has no right to publish changes records all the same: who waits asks again.
func TestChangesWithoutTheRightToTell(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing, Users: map[string]string{"mute": "~* resetchannels +@all -@admin"}})
	d := databaseOn(t, server.DSN(1))
	here := d.open()
	d.dsn = server.UserDSN("mute", 1) + "?prefix=" + d.names.prefix
	mute := d.open()
	for name, change := range map[string]func(b machine.Begin) (machine.Command, machine.Outcome){
		"a completion": func(b machine.Begin) (machine.Command, machine.Outcome) {
			return completion(b, "answer"), machine.CompletedNow
		},
		"a renewal": func(b machine.Begin) (machine.Command, machine.Outcome) {
			return machine.Renew{Hold: completion(b, "").Hold, Lease: time.Hour}, machine.Renewed
		},
	} {
		begin := newBegin()
		want(t, mute, machine.Acquired, begin)
		changed, stop := here.Watch(begin.Scope, 1)
		d.marked(begin.Scope.Digest)
		command, outcome := change(begin)
		want(t, mute, outcome, command)
		here.watchers.refresh() // as it does now and then
		t.Logf("waiting to be woken by %s", name)
		<-changed
		stop()
	}
	_, stop := mute.Watch(newBegin().Scope, 1) // it cannot hear either, which harms nobody
	stop()
}

// The head that a watch reads is all of the longest head.
func TestLongestHead(t *testing.T) {
	t.Parallel()
	r := &machine.Record{State: machine.Executing, Attempt: 1<<32 - 1, Revision: 1<<64 - 1}
	p := packing{r: r, flags: flagSealed<<1 - 1}
	head := p.head(nil)
	if len(head) != int(number(t, longestHead)) {
		t.Errorf("the longest head is %d bytes long, not %s", len(head), longestHead)
	}
	if got := revisionOf(head); got != r.Revision {
		t.Errorf("revision %d is read as %d", r.Revision, got)
	}
	for n := range head {
		if got := revisionOf(head[:n]); got != 0 {
			t.Errorf("of %d bytes, revision %d is read", n, got)
		}
	}
}
