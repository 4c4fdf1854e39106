package mysqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// One key many times in a group: one gets it.
func TestDuplicatesInAGroup(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{})
	for range 10 {
		begin := newBegin()
		outcomes := make(chan machine.Outcome, 60)
		var group sync.WaitGroup
		for range cap(outcomes) {
			group.Go(func() { outcomes <- apply(t, s, anotherCaller(begin)).Outcome })
		}
		group.Wait()
		close(outcomes)
		got := map[machine.Outcome]int{}
		for o := range outcomes {
			got[o]++
		}
		if got[machine.Acquired] != 1 || got[machine.InProgress] != 59 {
			t.Fatalf("outcomes: %v", got)
		}
	}
}

// Answers that are too large to share a message are written alone, beside others.
func TestLargeAnswersGoAlone(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{})
	var group sync.WaitGroup
	for caller := range 16 {
		group.Go(func() {
			begin, answer := newBegin(), bytes.Repeat([]byte{byte(caller)}, largeAnswer*(caller%2)+10)
			want(t, s, machine.Acquired, begin)
			want(t, s, machine.CompletedNow, completion(begin, answer))
			if reply := want(t, s, machine.Replay, anotherCaller(begin)); !bytes.Equal(reply.Response.Data, answer) {
				t.Errorf("an answer of %d bytes came back with %d", len(answer), len(reply.Response.Data))
			}
		})
	}
	group.Wait()
}

// Replies of whole groups are lost, before and after they took effect: each caller gets the truth about
// its own command, and a reply that was settled is like one that came.
func TestLostGroupsAreSettled(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	d := prepare(t, server.Database(t))
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{MaxConns: 8}, movable)
	if err != nil {
		t.Fatal(err)
	}
	proxy.SetPlan(faultnet.Random(1, 12, faultnet.ReplyLost(), faultnet.ReplyCut(), faultnet.RequestLost(), faultnet.RequestCut()))
	var group sync.WaitGroup
	for caller := range 24 {
		group.Go(func() {
			for i := range 12 {
				begin := newBegin()
				answer := []byte(fmt.Sprint(caller, i))
				truth(t, s, begin, machine.Acquired)
				truth(t, s, completion(begin, answer), machine.CompletedNow)
				if reply := truth(t, s, anotherCaller(begin), machine.Replay); !bytes.Equal(reply.Response.Data, answer) {
					t.Errorf("replayed %q, recorded %q", reply.Response.Data, answer)
				}
			}
		})
	}
	group.Wait()
	if proxy.Struck() < 20 {
		t.Errorf("only %d messages were struck", proxy.Struck())
	}
	proxy.SetPlan(faultnet.None)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// truth applies a command until it is answered. Unless an error said that it may have been applied, the
// outcome is one of those of a first try.
func truth(t *testing.T, s *Store, command machine.Command, outcomes ...machine.Outcome) machine.Reply {
	doubt := false
	for t.Context().Err() == nil {
		reply, err := s.Apply(t.Context(), command)
		switch {
		case err == nil && !slices.Contains(outcomes, reply.Outcome) && !doubt:
			t.Errorf("%v: %v, want %v", command.Kind(), reply.Outcome, outcomes)
			return reply
		case err == nil:
			return reply
		case errors.Is(err, store.ErrIndeterminate):
			doubt = true
		case !errors.Is(err, store.ErrUnavailable):
			t.Errorf("%v: %v", command.Kind(), err)
			return reply
		}
	}
	return machine.Reply{}
}

// A lost reply to a lone command of each path is settled within the call: the caller sees what a direct
// success looks like (case O31).
func TestALostReplyIsLikeOneThatCame(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	d := prepare(t, server.Database(t))
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{}, movable)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	direct := d.open(Options{})
	for name, fault := range map[string]faultnet.Fault{"after": faultnet.ReplyLost(), "before": faultnet.RequestLost()} {
		// What is struck is a request of the command, by number, on a connection that has prepared all.
		lose := func(n int, outcome machine.Outcome, command machine.Command) machine.Reply {
			t.Helper()
			proxy.SetPlan(faultnet.None)
			warm := newBegin()
			want(t, s, machine.Acquired, warm)
			want(t, s, machine.Renewed, machine.Renew{Hold: completion(warm, nil).Hold, Lease: time.Minute})
			done := completion(warm, nil)
			done.Revision = 2
			want(t, s, machine.CompletedNow, done)
			proxy.SetPlan(faultnet.Nth(n, fault))
			reply := want(t, s, outcome, command)
			if proxy.Struck() == 0 {
				t.Errorf("%s, %v: nothing was struck", name, command.Kind())
			}
			record, err := direct.Apply(t.Context(), machine.Inspect{Scope: command.Target()})
			if err != nil || record.Revision != reply.Revision || record.LeaseEnd != reply.LeaseEnd || record.Finished != reply.Finished {
				t.Errorf("%s, %v: told %+v, recorded %+v: %v", name, command.Kind(), reply, record, err)
			}
			return reply
		}
		begin := newBegin()
		hold := completion(begin, nil).Hold
		reply := lose(1, machine.Acquired, begin)
		hold.Revision = reply.Revision
		reply = lose(2, machine.Renewed, machine.Renew{Hold: hold, Lease: time.Minute})
		done := completion(begin, []byte("answer"))
		done.Revision = reply.Revision
		lose(1, machine.CompletedNow, done)
	}
}

// A begin that goes on from its caller's own claim is told when that was done, whichever of its messages is
// lost.
func TestALostReplyToAResumedClaim(t *testing.T) {
	t.Parallel()
	server := servicetest.MariaDB(t)
	d := newDatabase(t)
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{}, movable)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n, struck := 1, 1; struck > 0; n++ {
		begin := newBegin()
		want(t, s, machine.Acquired, begin.Claim)
		proxy.SetPlan(faultnet.Nth(n, faultnet.ReplyLost()))
		reply := truth(t, s, begin, machine.ReplayedAcquire)
		if held := reply.LeaseEnd.Sub(reply.At); held != begin.Lease {
			t.Errorf("the reply to message %d is lost: told that %v of the lease are left, of %v", n, held, begin.Lease)
		}
		struck = proxy.Struck()
		proxy.SetPlan(faultnet.None)
	}
}

// Because a claim that made its record must not be told that somebody else was first: if the record has gone
// on before it was found out that the claim was committed, the claim stays in doubt.
func TestALostReplyThatIsOvertaken(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy := faultnet.New(t, servicetest.MariaDB(t).Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{}, movable)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	direct := d.open(Options{})
	want(t, s, machine.Acquired, newBegin()) // prepares the statement
	begin, release := newBegin(), make(chan struct{})
	proxy.SetPlan(func(r faultnet.Request) faultnet.Fault {
		if r.N == 1 {
			return faultnet.ReplyLost()
		}
		return faultnet.HeldUntil(release)
	})
	struck := proxy.Next(faultnet.Is(faultnet.Struck))
	told := make(chan error, 1)
	go func() {
		_, err := s.Apply(t.Context(), begin.Claim)
		told <- err
	}()
	<-struck
	want(t, direct, machine.Started, machine.Start{Hold: completion(begin, nil).Hold, Lease: time.Minute})
	close(release)
	if err := <-told; err == nil || store.Classify(err) != store.ErrIndeterminate {
		t.Errorf("%v", err)
	}
	want(t, s, machine.InProgress, begin.Claim)
}

// A claim whose bounds keep it from making a record is left alone, and so is nothing else of its group. One that goes by itself is looked at
// in the same way.
func TestAGroupLeavesOutWhoIsOutOfBounds(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	now := want(t, s, machine.NotFound, machine.Inspect{Scope: newBegin().Scope}).At
	bounds := []struct{ from, before machine.Instant }{
		{0, now}, {0, 0}, {now.Add(time.Hour), 0}, {now, now.Add(time.Hour)},
	}
	write := func(i int) *form.Write {
		c := newBegin().Claim
		c.CreateFrom, c.CreateBefore = bounds[i].from, bounds[i].before
		return form.NewRecord(c, c)
	}
	for _, together := range []bool{true, false} {
		var jobs []*gather.Job[form.Write]
		for i := range bounds {
			jobs = append(jobs, &gather.Job[form.Write]{Work: write(i)})
			if !together {
				s.commit(t.Context(), jobs[i:])
			}
		}
		if together {
			s.commit(t.Context(), jobs)
		}
		for i, j := range jobs {
			w := j.Work
			reply := want(t, s, map[bool]machine.Outcome{false: machine.NotFound, true: machine.Found}[i%2 == 1], machine.Inspect{Scope: w.Next.Scope})
			if w.Written != (i%2 == 1) || w.Doubt != nil || j.Err != nil || w.Written && (w.At < now || w.At > reply.At) {
				t.Errorf("together %v, bounds %d: written %v at %v, doubt %v, %v", together, i, w.Written, w.At, w.Doubt, j.Err)
			}
		}
	}
}

// Because a caller that is told "there is no record, and none may be made any more" goes on to another
// record of the same key: it is told so only when nobody is just making this one.
func TestBarredIsSaidUnderTheLock(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.open(Options{})
	now := want(t, s, machine.NotFound, machine.Inspect{Scope: newBegin().Scope}).At
	busy := shop.openEffect()
	defer busy.release()
	late := func(key machine.Begin) machine.Begin {
		late := anotherCaller(key)
		late.CreateBefore = now
		return late
	}
	for _, lookFirst := range []bool{false, true} {
		s.replays.Store(lookFirst)
		want(t, s, machine.InProgress, late(busy.key))
	}
	busy.end(t)
	want(t, s, machine.Replay, late(busy.key))
	want(t, s, machine.Barred, late(newBegin()))
}

// A store that is closed gives up those who wait for a key that is held.
func TestCloseGivesUpWhoWaits(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, err := open(t.Context(), d.dsn, Options{}, movable)
	if err != nil {
		t.Fatal(err)
	}
	begin := newBegin()
	tx := d.hold(begin.Scope.Digest)
	defer tx.Rollback()
	told := make(chan error, 1)
	go func() {
		_, err := s.Apply(context.WithoutCancel(t.Context()), begin)
		told <- err
	}()
	for !s.turns.Taken(begin.Scope.Digest) {
		runtime.Gosched()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-told; !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("%v", err)
	}
}

// Because the machine of a process, or the network to it, can go away in the middle of a transaction without
// a word: the server frees the key after a time, and does not wait for the other side to close.
func TestWhoIsGoneHoldsNoKey(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	sound := d.open(Options{})
	proxy := faultnet.New(t, servicetest.MariaDB(t).Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{Timeout: 200 * time.Millisecond}, movable)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.CutAll(); s.Close() })
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	hold := completion(begin, nil).Hold
	hold.Revision = want(t, s, machine.Renewed, machine.Renew{Hold: hold, Lease: time.Minute}).Revision
	// The lock is taken and the record loaded; what comes then does not arrive, and nothing closes.
	proxy.SetPlan(faultnet.From(2, faultnet.RequestLost().Hanging()))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	renew := machine.Renew{Hold: hold, Lease: time.Minute}
	if _, err := s.Apply(ctx, renew); !errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("who is gone: %v", err)
	}
	patient, giveUp := context.WithTimeout(t.Context(), 8*time.Second)
	defer giveUp()
	if reply, err := sound.Apply(patient, renew); err != nil || reply.Outcome != machine.Renewed {
		t.Errorf("somebody else: %v, %v", reply.Outcome, err)
	}
}

// Because answers that the server takes one by one may be too much for one message: then they are left to their callers.
func TestAGroupThatIsTooLarge(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, Settings: map[string]string{"max-allowed-packet": "256K"}})
	s := prepare(t, server.Database(t)).open(Options{})
	answer := bytes.Repeat([]byte{1}, largeAnswer-1000)
	var jobs []*gather.Job[form.Write]
	var done []machine.Complete
	for range 20 {
		begin := newBegin()
		want(t, s, machine.Acquired, begin)
		done = append(done, completion(begin, answer))
		jobs = append(jobs, &gather.Job[form.Write]{Work: form.NewAnswer(s.memory.Get(begin.Scope.Digest), completion(begin, answer))})
	}
	s.commit(t.Context(), jobs)
	for i, j := range jobs {
		if j.Err != nil || j.Work.Doubt != nil {
			t.Errorf("%v, in doubt: %v", j.Err, j.Work.Doubt)
		}
		want(t, s, map[bool]machine.Outcome{false: machine.CompletedNow, true: machine.AlreadyCompleted}[j.Work.Written], done[i])
	}
	records := make([]*machine.Record, len(done))
	for i, c := range done {
		records[i] = want(t, s, machine.Found, machine.Inspect{Scope: c.Scope}).Record
	}
	other := prepare(t, server.Database(t)).open(Options{})
	outcomes, err := other.Import(t.Context(), records)
	if err != nil || len(outcomes) != len(records) {
		t.Errorf("imported %d of %d: %v", len(outcomes), len(records), err)
	}
}
