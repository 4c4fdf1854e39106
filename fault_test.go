package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

// guardOver returns a guard over a store that follows a plan. Inside a synctest bubble the store's
// clock is the bubble's.
func guardOver(t *testing.T, inner store.Store, plan faultstore.Plan, p reprise.Policy) (*reprise.Guard, *faultstore.Store) {
	t.Helper()
	s := faultstore.New(inner, plan)
	p.Secrets = reprisetest.Secrets(t)
	g, err := reprise.New(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

func closeGuard(t *testing.T, g *reprise.Guard) {
	t.Helper()
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestEveryCommandFailsOnce breaks each command of a call, before and after it took effect, for each
// way an action can end. Whatever happens, the action runs at most once before its outcome is known,
// the caller is told no lie, and a later call gets the same truth.
func TestEveryCommandFailsOnce(t *testing.T) {
	t.Parallel()
	faults := map[string]faultstore.Fault{
		"refused": faultstore.Refused(), "unsent": faultstore.Unsent(),
		"reply lost": faultstore.ReplyLost(), "twice": faultstore.Twice(),
	}
	results := map[string]error{"answered": nil, "no effect": reprise.NoEffect(errAction), "doubtful": errAction}
	for _, late := range []bool{false, true} {
		for _, interruption := range []reprise.Interruption{reprise.Quarantine, reprise.Rerun} {
			for result, cause := range results {
				for fault, f := range faults {
					for n := 1; n <= 3; n++ {
						name := fmt.Sprintf("late=%v/%v/%s/%s/%d", late, interruption, result, fault, n)
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							synctest.Test(t, func(t *testing.T) {
								failOnce(t, reprise.Policy{LateStart: late, Interruption: interruption}, faultstore.Nth(n, f), cause)
							})
						})
					}
				}
			}
		}
	}
}

func failOnce(t *testing.T, p reprise.Policy, plan faultstore.Plan, cause error) {
	g, s := guardOver(t, memstore.New(nil), plan, p)
	defer closeGuard(t, g)
	runs := 0
	action := func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		if err := run.Start(ctx); err != nil {
			return reprise.Response{}, reprise.NoEffect(err)
		}
		runs++
		return reprise.Response{Data: fmt.Append(nil, runs)}, cause
	}
	first, err := g.Do(t.Context(), order("k"), action)
	ranFirst := runs
	switch {
	case err == nil && (ranFirst != 1 || string(first.Response.Data) != "1"):
		t.Errorf("answered %q after %d runs", first.Response.Data, ranFirst)
	case errors.Is(err, reprise.ErrUnavailable) && ranFirst != 0:
		t.Errorf("told unavailable after %d runs", ranFirst)
	case err != nil && ranFirst == 1 && cause == nil:
		t.Errorf("one fault, and the answer was not given: %v", err)
	}
	s.SetPlan(faultstore.None)
	closeGuard(t, g) // what goes on in the background ends
	again, s2 := guardOver(t, s.Unwrap(), nil, p)
	defer closeGuard(t, again)
	_ = s2
	second, err2 := again.Do(t.Context(), order("k"), action)
	switch {
	case ranFirst == 0 && (err2 != nil && cause == nil || runs != 1):
		t.Errorf("nothing had run, and the second call ended with %v after %d runs (the first: %v)", err2, runs, err)
	case ranFirst == 1 && cause == nil && (runs != 1 || err2 != nil || !second.Replayed || string(second.Response.Data) != "1"):
		t.Errorf("the second call: %+v, %v, %d runs", second, err2, runs)
	case ranFirst == 1 && errors.Is(cause, errAction) && errors.Is(err, reprise.ErrUnknown) && (runs != 1 || !errors.Is(err2, reprise.ErrUnknown)):
		t.Errorf("an unknown outcome became %v after %d runs", err2, runs)
	case ranFirst == 1 && errors.Is(err, reprise.ErrNoEffect) && runs != 2:
		t.Errorf("no effect, and the second call did not run: %v", err2)
	}
}

// TestStoreGoesAway: from some command on, nothing is answered any more.
func TestStoreGoesAway(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		interruption reprise.Interruption
		from         int
		want         error
		runs         int
		recorded     bool
	}{
		{reprise.Quarantine, 1, reprise.ErrUnavailable, 0, false},
		{reprise.Quarantine, 2, nil, 1, false},
		{reprise.Rerun, 1, reprise.ErrUnavailable, 0, false},
		{reprise.Rerun, 2, reprise.ErrUnknown, 1, false},
	} {
		t.Run(fmt.Sprintf("%v/%d", p.interruption, p.from), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := memstore.New(nil)
				g, s := guardOver(t, inner, faultstore.From(p.from, faultstore.Unsent()), reprise.Policy{Interruption: p.interruption})
				runs := 0
				outcome, err := g.Do(t.Context(), order("k"), counted(&runs))
				if !errors.Is(err, p.want) || runs != p.runs || outcome.Recorded != p.recorded {
					t.Errorf("%+v, %v, %d runs", outcome, err, runs)
				}
				// The store comes back, and with it what is still to be said.
				s.SetPlan(faultstore.None)
				closeGuard(t, g)
				if p.runs == 1 {
					reply, err := inner.Apply(t.Context(), machine.Inspect{Scope: machine.Scope{Digest: outcome.Digest}})
					if err != nil || reply.State != machine.Completed {
						t.Errorf("recorded in the background: %v %v", reply.State, err)
					}
				}
			})
		})
	}
}

// TestLateReplyIsNotTrusted: a claim is granted, and its reply arrives when little of the lease is left.
func TestLateReplyIsNotTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner, answer := memstore.New(nil), make(chan struct{})
		g, _ := guardOver(t, inner, faultstore.Nth(1, faultstore.AnsweredAfter(answer)),
			reprise.Policy{Lease: 9 * time.Second, CommandTimeout: 3 * time.Second})
		time.AfterFunc(2*time.Second, func() { close(answer) })
		runs := 0
		if _, err := g.Do(t.Context(), order("k"), counted(&runs)); err != nil || runs != 1 {
			t.Errorf("7 s left: %v, %d runs", err, runs)
		}
		closeGuard(t, g)
	})
}

// TestGivesUpHonestly: the caller leaves while its claim is in doubt. The claim arrived; the key is
// free again at once, not after the lease.
func TestGivesUpHonestly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New(nil)
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		g, _ := guardOver(t, inner, faultstore.Nth(1, faultstore.AnsweredAfter(make(chan struct{}))), reprise.Policy{})
		runs := 0
		if _, err := g.Do(ctx, order("k"), counted(&runs)); !errors.Is(err, reprise.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		closeGuard(t, g)
		again, _ := guardOver(t, inner, nil, reprise.Policy{})
		if o, err := again.Do(t.Context(), order("k"), counted(&runs)); err != nil || runs != 1 || o.Attempt != 2 {
			t.Errorf("%+v, %v, %d runs", o, err, runs)
		}
		closeGuard(t, again)
	})
}
