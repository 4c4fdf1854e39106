package mysqlstore

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// What another process does to a record that is executing wakes those who wait in this one.
func TestChangesOfOtherProcessesWake(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	here, there := d.open(Options{}), d.open(Options{})
	for name, end := range map[string]func(begin machine.Begin){
		"a completion": func(begin machine.Begin) { want(t, there, machine.CompletedNow, completion(begin, nil)) },
		"a failure": func(begin machine.Begin) {
			want(t, there, machine.Failed, machine.Fail{Hold: completion(begin, nil).Hold, Reason: "no"})
		},
		"a completion by a process that remembers nothing": func(begin machine.Begin) {
			want(t, d.open(Options{}), machine.CompletedNow, completion(begin, nil))
		},
	} {
		begin := newBegin()
		want(t, there, machine.Acquired, begin)
		changed, stop := here.Watch(begin.Scope, 1)
		end(begin)
		t.Logf("waiting to be woken by %s", name) // says where it hangs
		<-changed
		stop()
	}
}

// A watch after the store was closed does no harm.
func TestWatchingAClosedStore(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), newDatabase(t).dsn, Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, stop := s.Watch(newBegin().Scope, 1)
	stop()
}

// One test in real time: a lease of the server's clock ends by itself.
func TestALeaseEndsInRealTime(t *testing.T) {
	t.Parallel()
	dsn := servicetest.MariaDB(t).Database(t)
	s, err := Open(t.Context(), dsn, Options{Migrate: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := newBegin()
	begin.Lease, begin.Interruption = 20*time.Millisecond, machine.Rerun
	want(t, s, machine.Acquired, begin)
	next := anotherCaller(begin)
	for {
		reply := apply(t, s, next)
		if reply.Outcome == machine.Takeable {
			next.Seen = reply.Revision
			break
		}
		if reply.Outcome != machine.InProgress || reply.LeaseEnd <= reply.At {
			t.Fatalf("%+v", reply)
		}
	}
	want(t, s, machine.TakenOver, next)
}
