package pgstore

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// marked waits until somebody's watch on a record is known to the server.
func (d *database) marked(begin machine.Begin) {
	d.Helper()
	conn := d.connect()
	for awaited := false; !awaited; {
		err := conn.QueryRow(d.Context(), "SELECT awaited FROM reprise.reprise_open WHERE head = $1", head(begin.Scope.Digest)).Scan(&awaited)
		if err != nil {
			d.Fatal(err)
		}
	}
}

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
		d.marked(begin)
		end(begin)
		t.Logf("waiting to be woken by %s", name) // says where it hangs
		<-changed
		stop()
	}
}

// Nothing is told where nobody waits.
func TestNobodyIsToldWithoutNeed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, conn := d.open(Options{}), d.connect()
	if _, err := conn.Exec(t.Context(), "LISTEN "+pgx.Identifier{s.address.channel()}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	quiet, awaited := newBegin(), newBegin()
	for _, begin := range []machine.Begin{quiet, awaited} {
		want(t, s, machine.Acquired, begin)
	}
	_, stop := d.open(Options{}).Watch(awaited.Scope, 1)
	defer stop()
	d.marked(awaited)
	for _, begin := range []machine.Begin{quiet, awaited} {
		want(t, s, machine.CompletedNow, completion(begin, nil))
	}
	told, err := conn.WaitForNotification(t.Context())
	if err != nil || told.Payload != awaited.Scope.Digest.String() {
		t.Errorf("the first that was told is %+v: %v", told, err)
	}
}

// A connection that listens and is lost is made again, and whoever waits is woken: it may have missed
// something.
func TestListeningSurvivesALostConnection(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	d := prepare(t, server.Database(t), DefaultSchema)
	here, there := d.open(Options{}), d.open(Options{})
	begin := newBegin()
	want(t, there, machine.Acquired, begin)
	changed, stop := here.Watch(begin.Scope, 1)
	defer stop()
	<-changed // by the first connection
	changed, stop = here.Watch(begin.Scope, 1)
	defer stop()
	server.Restart()
	<-changed // by the second one
	changed, stop = here.Watch(begin.Scope, 1)
	defer stop()
	d.conn = nil
	d.marked(begin)
	truth(t, there, completion(begin, nil), machine.CompletedNow)
	<-changed
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
	dsn := servicetest.Postgres(t).Database(t)
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
