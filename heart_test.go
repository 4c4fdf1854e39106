package reprise_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

const lease = 30 * time.Second

// lasting is an action that takes its time, and ends early when its context does.
func lasting(d time.Duration) reprise.Action {
	return func(ctx context.Context, _ *reprise.Run) (reprise.Response, error) {
		select {
		case <-time.After(d):
			return reprise.Response{Data: []byte("done")}, nil
		case <-ctx.Done():
			return reprise.Response{}, context.Cause(ctx)
		}
	}
}

func TestHeartbeatKeepsTheKey(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]faultstore.Plan{
		"undisturbed":            nil,
		"one renewal refused":    faultstore.First(machine.KindRenew, faultstore.Refused()),
		"one renewal lost":       faultstore.First(machine.KindRenew, faultstore.Unsent()),
		"one reply lost":         faultstore.First(machine.KindRenew, faultstore.ReplyLost()),
		"each renewal twice":     faultstore.Every(machine.KindRenew, faultstore.Twice()),
		"completion's reply too": faultstore.Both(faultstore.First(machine.KindRenew, faultstore.ReplyLost()), faultstore.First(machine.KindComplete, faultstore.ReplyLost())),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New(nil)
				g, _ := guardOver(t, inner, plan, reprise.Policy{Lease: lease})
				defer closeGuard(t, g)
				other, _ := guardOver(t, inner, nil, reprise.Policy{Lease: lease})
				defer closeGuard(t, other)
				time.AfterFunc(4*lease, func() {
					if _, err := other.Do(context.Background(), order("k"), lasting(0)); !errors.Is(err, reprise.ErrInProgress) {
						t.Errorf("a duplicate after four leases: %v", err)
					}
				})
				outcome, err := g.Do(t.Context(), order("k"), lasting(10*lease))
				if err != nil || !outcome.Recorded || outcome.Attempt != 1 {
					t.Errorf("%+v, %v", outcome, err)
				}
			})
		})
	}
}

func TestLeaseLostEndsTheAction(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultstore.Fault{"refused": faultstore.Refused(), "no answer": faultstore.Unsent()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, _ := guardOver(t, memstore.New(nil), faultstore.Every(machine.KindRenew, fault), reprise.Policy{Lease: lease})
				defer closeGuard(t, g)
				began := time.Now()
				_, err := g.Do(t.Context(), order("k"), lasting(10*lease))
				if !errors.Is(err, reprise.ErrLeaseLost) || !errors.Is(err, reprise.ErrUnknown) {
					t.Errorf("error %v", err)
				}
				if after := time.Since(began); after != lease {
					t.Errorf("the context ended after %v of a lease of %v", after, lease)
				}
			})
		})
	}
}

// TestSettledOwnerKeepsItsAnswerToItself: while the action runs on without its lease, an operator
// settles the key. The late owner gives the record's answer, never its own.
func TestSettledOwnerKeepsItsAnswerToItself(t *testing.T) {
	t.Parallel()
	for _, completed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			inner := memstore.New(nil)
			g, _ := guardOver(t, inner, faultstore.Every(machine.KindRenew, faultstore.Unsent()), reprise.Policy{Lease: lease})
			defer closeGuard(t, g)
			outcome, err := g.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
				<-ctx.Done()
				settle(t, inner, run.Digest(), completed)
				return reprise.Response{Data: []byte("own")}, nil
			})
			switch {
			case completed && (err != nil || string(outcome.Response.Data) != "settled" || outcome.Ran || !outcome.Replayed):
				t.Errorf("settled as happened: %+v, %v", outcome, err)
			case !completed && (!errors.Is(err, reprise.ErrUnknown) || outcome.Ran || outcome.Response.Data != nil):
				t.Errorf("settled as not happened: %+v, %v", outcome, err)
			}
		})
	}
}

func settle(t *testing.T, s *memstore.Store, digest machine.Digest, completed bool) {
	t.Helper()
	found, err := s.Apply(context.Background(), machine.Inspect{Scope: machine.Scope{Digest: digest}})
	if err != nil || found.State != machine.Abandoned {
		t.Fatalf("not abandoned: %v %v", found.State, err)
	}
	reply, err := s.Apply(context.Background(), machine.Settle{
		Scope: found.Record.Scope, Operation: machine.ID{9}, Revision: found.Revision, Completed: completed,
		Response: machine.NewResponse(reprise.CodecRaw, []byte("settled")), Window: time.Hour, Remember: time.Hour, Who: "w", Why: "y",
	})
	if err != nil || reply.Outcome != machine.SettledNow {
		t.Fatalf("settle: %v %v", reply.Outcome, err)
	}
}

// TestInterruptedByDeath: a process that dies takes its lease with it.
func TestInterruptedByDeath(t *testing.T) {
	t.Parallel()
	for _, p := range []reprise.Policy{{}, {Interruption: reprise.Rerun}, {LateStart: true}} {
		synctest.Test(t, func(t *testing.T) {
			inner := memstore.New(nil)
			dead, _ := guardOver(t, inner, nil, p)
			v, err := dead.Prepare(order("k"))
			if err != nil {
				t.Fatal(err)
			}
			var claim machine.Command = v.Begin(0, 0)
			if p.LateStart {
				claim = v.Claim(0, 0)
			}
			if _, err := inner.Apply(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			g, _ := guardOver(t, inner, nil, p)
			defer closeGuard(t, g)
			runs := 0
			if _, err := g.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrInProgress) {
				t.Errorf("before the lease's end: %v", err)
			}
			<-time.After(reprise.DefaultLease)
			_, err = g.Do(t.Context(), order("k"), counted(&runs))
			if wantRun := p.LateStart || p.Interruption == reprise.Rerun; wantRun != (runs == 1) || !wantRun && !errors.Is(err, reprise.ErrUnknown) {
				t.Errorf("%+v: after the lease's end: %v, %d runs", p, err, runs)
			}
		})
	}
}

// TestHungRenewalDoesNotOutliveTheLease: renewals are not answered. The action is told when the lease ends,
// and not when the last renewal timed out.
func TestHungRenewalDoesNotOutliveTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := guardOver(t, memstore.New(nil), faultstore.Every(machine.KindRenew, faultstore.AnsweredAfter(make(chan struct{}))),
			reprise.Policy{Lease: 9 * time.Second, CommandTimeout: 3 * time.Second})
		began := time.Now() // the clock is the test's
		_, err := g.Do(t.Context(), order("k"), func(ctx context.Context, _ *reprise.Run) (reprise.Response, error) {
			<-ctx.Done()
			return reprise.Response{}, context.Cause(ctx)
		})
		if told := time.Since(began); told != 9*time.Second || !errors.Is(err, reprise.ErrLeaseLost) {
			t.Errorf("told after %v: %v", told, err)
		}
		closeGuard(t, g)
	})
}
