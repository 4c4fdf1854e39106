package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Several processes race for a key: for a new one with 200 duplicates, because only sequential ones may be caught elsewhere
// (case O28), and for one that was given up (case O2).
func TestOneOfManyProcessesGetsTheKey(t *testing.T) {
	t.Parallel()
	onTopologies(t, func(t *testing.T, start func(*testing.T) string) {
		d := databaseOn(t, start(t))
		fresh := newBegin().Scope.Digest.String()
		outcomes := killtest.Together(t, d.child("burst", fresh), d.child("burst", fresh))
		if outcomes["acquired"] != 1 || outcomes["in-progress"] != 199 || len(outcomes) != 2 {
			t.Errorf("outcomes of 200 begins on one key: %v", outcomes)
		}

		s, left := d.open(), newBegin()
		left.Interruption, left.Lease = machine.Rerun, 200*time.Millisecond
		want(t, s, machine.Acquired, left)
		eventually(t, func() error {
			reply, err := s.Apply(t.Context(), anotherCaller(left))
			if err == nil && reply.Outcome != machine.Takeable {
				err = fmt.Errorf("the key that was left: %v", reply.Outcome)
			}
			return err
		})
		digest := left.Scope.Digest.String()
		outcomes = killtest.Together(t, d.child("takeover", digest), d.child("takeover", digest), d.child("takeover", digest))
		if outcomes["taken-over"] != 1 || outcomes["in-progress"] != 2 || len(outcomes) != 2 {
			t.Errorf("outcomes of three takeovers of one key: %v", outcomes)
		}
		// The one that was left, and somebody who saw what it left, come late.
		late := anotherCaller(left)
		late.Seen, late.Interruption = 1, machine.Rerun
		for _, copied := range []machine.Begin{left, late} {
			before := want(t, s, machine.Found, machine.Inspect{Scope: left.Scope}).Record
			want(t, s, machine.InProgress, copied)
			if after := want(t, s, machine.Found, machine.Inspect{Scope: left.Scope}).Record; fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("a late begin made\n%+v of\n%+v", after, before)
			}
		}
	})
}

// A begin is held up in the network, for longer than its caller waits. What it meets when it arrives stays as it is: the
// record of somebody else who runs or has an answer, and that of the same caller, who has sent it again meanwhile.
func TestADelayedBeginChangesNothing(t *testing.T) {
	t.Parallel()
	server := servicetest.Redis(t)
	for name, c := range map[string]struct{ same, completed bool }{
		"another runs": {}, "another is answered": {completed: true}, "sent again": {same: true}, "sent again and answered": {same: true, completed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := databaseOn(t, server.Database(t))
			proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
			slow, err := Open(t.Context(), proxy.Through(d.dsn), d.options)
			if err != nil {
				t.Fatal(err)
			}
			defer slow.Close()
			want(t, slow, machine.Acquired, newBegin()) // the server knows the script from now on
			release := make(chan struct{})
			begin, held := newBegin(), proxy.Next(faultnet.Is(faultnet.Struck))
			proxy.SetPlan(faultnet.From(1, faultnet.HeldUntil(release)))
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			told := make(chan error)
			go func() {
				_, err := slow.Apply(ctx, begin)
				told <- err
			}()
			its := (<-held).Conn
			arrived := proxy.Next(func(e faultnet.Event) bool {
				return e.Conn == its && (e.Kind == faultnet.Answered || e.Kind == faultnet.Closed)
			})
			if err := <-told; !errors.Is(err, store.ErrIndeterminate) {
				t.Fatalf("a begin that nobody answered: %v", err)
			}

			s, other := d.open(), begin
			if !c.same {
				other = anotherCaller(begin)
			}
			want(t, s, machine.Acquired, other)
			if c.completed {
				want(t, s, machine.CompletedNow, completion(other, "answer"))
			}
			before := want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope}).Record
			close(release)
			select {
			case <-arrived:
			case <-time.After(30 * time.Second):
				t.Fatal("it never arrived")
			}
			if after := want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope}).Record; fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("it made\n%+v of\n%+v", after, before)
			}
		})
	}
}
