package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// database is a database under test beside the model of what it must hold. One goroutine uses it.
type database struct {
	testing.TB
	harness Harness
	store   store.Store
	model   model
	names   int
}

func newDatabase(t testing.TB, h Harness) *database {
	t.Helper()
	d := &database{TB: t, harness: h, model: model{}}
	d.store = d.open()
	return d
}

// open returns a further handle, which is closed at the end of the test.
func (d *database) open() store.Store {
	d.Helper()
	s, err := d.harness.Open()
	if err != nil {
		d.Fatalf("open: %v", err)
	}
	d.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.Errorf("close: %v", err)
		}
	})
	return s
}

// apply runs a command and compares the reply with the model's.
func (d *database) apply(command machine.Command) machine.Reply {
	d.Helper()
	return d.applyTo(d.store, command)
}

func (d *database) applyTo(s store.Store, command machine.Command) machine.Reply {
	d.Helper()
	reply, err := s.Apply(d.Context(), command)
	if err != nil {
		d.Fatalf("%v: %v", command.Kind(), err)
	}
	if diff := d.follow(command, reply); diff != "" {
		d.Fatalf("%v: reply differs from machine.Step (-want +got):\n%s", command.Kind(), diff)
	}
	return reply
}

// expect applies a command and states its outcome, so that a wrong machine is noticed too.
func (d *database) expect(want machine.Outcome, command machine.Command) machine.Reply {
	d.Helper()
	reply := d.apply(command)
	if reply.Outcome != want {
		d.Fatalf("%v: outcome %v (%s), want %v", command.Kind(), reply.Outcome, reply.Reason, want)
	}
	if command.Kind() != machine.KindInspect {
		d.inspect(command.Target())
	}
	return reply
}

// inspect reads a record, compared with the model's. It is nil where there is none.
func (d *database) inspect(scope machine.Scope) *machine.Record {
	d.Helper()
	return d.apply(machine.Inspect{Scope: scope}).Record
}

// refuse is expect for a command that must leave the record as it is.
func (d *database) refuse(want machine.Outcome, command machine.Command) machine.Reply {
	d.Helper()
	before := d.inspect(command.Target())
	reply := d.expect(want, command)
	after := d.inspect(command.Target())
	if !equalRecords(before, after) {
		diff := cmp.Diff(before, after, comparison...)
		d.Fatalf("%v: refused as %v, and changed the record (-before +after):\n%s", command.Kind(), want, diff)
	}
	return reply
}

// advance moves the clock, and shows that the store follows it.
func (d *database) advance(by time.Duration) {
	d.Helper()
	probe := machine.Inspect{Scope: d.scope("clock")}
	before := d.apply(probe).At
	d.harness.Advance(by)
	if after := d.apply(probe).At; after < before.Add(by) {
		d.Fatalf("the clock was advanced by %v from %v and reads %v", by, before, after)
	}
}

// scope returns a scope that no other test of this database uses.
func (d *database) scope(name string) machine.Scope {
	d.names++
	return machine.Scope{Operation: "POST /" + name, SecretVersion: 1, Digest: sum(fmt.Sprint(d.names, name))}
}

// model is what a database must hold.
type model map[machine.Digest]*machine.Record

// follow is model.follow, for a database that may have forgotten by itself what is to be forgotten.
func (d *database) follow(command machine.Command, got machine.Reply) string {
	if command.Kind() == machine.KindForget && d.harness.Fades && got.Outcome == machine.NotFound {
		if r := d.model[command.Target().Digest]; r != nil && r.ForgottenAt() != 0 && got.At >= r.ForgottenAt() {
			got.Outcome = machine.Forgotten
		}
	}
	return d.model.follow(command, got)
}

// follow takes the step that the store took, at the time of its reply, and returns how the replies
// differ: nothing when they are equal.
func (m model) follow(command machine.Command, got machine.Reply) string {
	digest := command.Target().Digest
	next, want := machine.Step(m[digest], command, got.At.Time())
	if next == nil {
		delete(m, digest)
	} else {
		m[digest] = next
	}
	if equalReplies(want, got) {
		return ""
	}
	return cmp.Diff(want, got, comparison...)
}

// equalReplies reports whether two replies are equal by comparison, mostly without its help, which takes long.
func equalReplies(want, got machine.Reply) bool {
	a, b := want, got
	a.Record, b.Record = nil, nil
	return reflect.DeepEqual(a, b) && equalRecords(want.Record, got.Record) || cmp.Equal(want, got, comparison...)
}

// equalRecords is equalReplies for records.
func equalRecords(a, b *machine.Record) bool {
	if a == nil || b == nil {
		return a == b
	}
	plain := *b
	plain.Generation = a.Generation
	return reflect.DeepEqual(*a, plain) || cmp.Equal(a, b, comparison...)
}

// comparison compares replies and records. A generation belongs to the store, and Step does not know it.
var comparison = cmp.Options{
	cmp.Comparer(bytes.Equal),
	cmpopts.IgnoreFields(machine.Record{}, "Generation"),
}
