package reprise_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

var late = reprise.Policy{LateStart: true}

func TestLateStart(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, late), 0
	outcome, err := bench.Guard.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		if r := bench.Record(t, run.Digest()); r.State != machine.Claimed {
			t.Errorf("before Start the record is %v", r.State)
		}
		for range 2 {
			if err := run.Start(ctx); err != nil {
				t.Error(err)
			}
		}
		if r := bench.Record(t, run.Digest()); r.State != machine.Executing {
			t.Errorf("after Start the record is %v", r.State)
		}
		return counted(&runs)(ctx, run)
	})
	if err != nil || !outcome.Recorded {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if again, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); err != nil || !again.Replayed || runs != 1 {
		t.Errorf("%+v, %v, %d runs", again, err, runs)
	}
}

// TestFailureBeforeStartLeavesNoTrace: whatever the error says, nothing that cannot be undone began.
func TestFailureBeforeStartLeavesNoTrace(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, late), 0
	_, err := bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{}, errAction
	})
	if !errors.Is(err, errAction) || !errors.Is(err, reprise.ErrNoEffect) || errors.Is(err, reprise.ErrUnknown) {
		t.Error(err)
	}
	outcome, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	if err != nil || outcome.Attempt != 1 {
		t.Errorf("the key is not as new: %+v, %v", outcome, err)
	}
}

func TestAnswerWithoutStartIsRecorded(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, late), 0
	for range 2 {
		if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); err != nil {
			t.Error(err)
		}
	}
	if runs != 1 {
		t.Errorf("ran %d times", runs)
	}
}

// TestStartIsRefusedAfterATakeover: an action that dawdled before Start must not go on.
func TestStartIsRefusedAfterATakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New(nil)
		slow, _ := guardOver(t, inner, faultstore.Every(machine.KindRenew, faultstore.Refused()), late)
		defer closeGuard(t, slow)
		quick, _ := guardOver(t, inner, nil, late)
		defer closeGuard(t, quick)
		effects := 0
		act := func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			if err := run.Start(ctx); err != nil {
				return reprise.Response{}, err
			}
			return counted(&effects)(ctx, run)
		}
		outcome, err := slow.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			<-time.After(reprise.DefaultLease + time.Second)
			if o, err := quick.Do(context.Background(), order("k"), act); err != nil || o.Attempt != 2 {
				t.Errorf("takeover: %+v, %v", o, err)
			}
			return act(ctx, run)
		})
		if err != nil || !outcome.Replayed || string(outcome.Response.Data) != "1" || effects != 1 {
			t.Errorf("%+v, %v, %d effects", outcome, err, effects)
		}
	})
}

// TestRetainedClaimGoesOn: a process claims, dies before Start, and comes back with what it retained.
func TestRetainedClaimGoesOn(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, late), 0
	retained := reprise.Retained{Owner: machine.Token{1}, Operation: machine.ID{2}}
	call := order("k")
	call.Resume = retained
	v, err := bench.Guard.Prepare(call)
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := bench.Store.Apply(t.Context(), v.Claim(0, 0)); err != nil || reply.Outcome != machine.Acquired {
		t.Fatal(reply.Outcome, err)
	}
	if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrInProgress) {
		t.Errorf("somebody else: %v", err)
	}
	outcome, err := bench.Guard.Do(t.Context(), call, func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		if run.Retain() != retained {
			t.Error("another claim")
		}
		return counted(&runs)(ctx, run)
	})
	if err != nil || outcome.Attempt != 1 || runs != 1 {
		t.Errorf("%+v, %v", outcome, err)
	}
}
