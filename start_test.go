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

// TestStartStaysRefused: the record was started, but its replies came when too little of the lease was
// left. An action that asks once more is not told to go on, and what it never began had no effect.
func TestStartStaysRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noRenewal := faultstore.Every(machine.KindRenew, faultstore.Refused())
		g, s := guardOver(t, memstore.New(nil), faultstore.Both(noRenewal, faultstore.Every(machine.KindStart, faultstore.ReplyLost())),
			reprise.Policy{LateStart: true, Lease: 9 * time.Second, CommandTimeout: 3 * time.Second})
		_, err := g.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			eighth := time.After(8 * time.Second)
			if err := run.Start(ctx); !errors.Is(err, reprise.ErrLeaseLost) {
				t.Errorf("without a reply: %v", err)
			}
			s.SetPlan(noRenewal)
			<-eighth
			for range 2 {
				if err := run.Start(ctx); !errors.Is(err, reprise.ErrLeaseLost) {
					t.Errorf("with 1 s of the lease left: %v", err)
				}
			}
			return reprise.Response{}, errAction
		})
		if !errors.Is(err, errAction) || !errors.Is(err, reprise.ErrNoEffect) || errors.Is(err, reprise.ErrUnknown) {
			t.Error(err)
		}
		runs := 0
		if outcome, err := g.Do(t.Context(), order("k"), counted(&runs)); err != nil || runs != 1 || outcome.Attempt != 2 {
			t.Errorf("the next try: %+v, %v", outcome, err)
		}
		closeGuard(t, g)
	})
}

// TestStartPausesAlthoughTheCallerLeft: a start in doubt is repeated with pauses, not as fast as it can be.
func TestStartPausesAlthoughTheCallerLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, s := guardOver(t, memstore.New(nil), faultstore.None, late)
		_, err := g.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			ctx, leave := context.WithCancel(ctx)
			s.SetPlan(func(n int, c machine.Command) faultstore.Fault {
				leave() // while the start is under way
				return faultstore.Every(machine.KindStart, faultstore.Unsent())(n, c)
			})
			if err := run.Start(ctx); !errors.Is(err, reprise.ErrLeaseLost) {
				t.Error(err)
			}
			if n := s.Commands(); n > 30 {
				t.Errorf("%d commands", n)
			}
			return reprise.Response{}, errAction
		})
		if !errors.Is(err, errAction) {
			t.Error(err)
		}
		closeGuard(t, g)
	})
}

// TestStartAfterARefusedComplete: the answer was recorded early, and refused. What comes after is not to begin.
func TestStartAfterARefusedComplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New(nil)
		g, _ := guardOver(t, inner, faultstore.Every(machine.KindRenew, faultstore.Refused()), reprise.Policy{LateStart: true})
		_, err := g.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			if err := run.Start(ctx); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			settle(t, inner, run.Digest(), false)
			refused := run.Complete(ctx, reprise.Response{})
			if refused == nil || run.Recorded() {
				t.Errorf("Complete after a settlement: %v, recorded %v", refused, run.Recorded())
			}
			if err := run.Start(ctx); err == nil {
				t.Error("Start says go on")
			}
			return reprise.Response{}, refused
		})
		if !errors.Is(err, reprise.ErrUnknown) {
			t.Error(err)
		}
		closeGuard(t, g)
	})
}

// TestStartOfOneWhoHasLeft: the part that cannot be undone does not begin for a caller who left before it, and the record does not say
// that it did: the key is as new.
func TestStartOfOneWhoHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _ := guardOver(t, memstore.New(nil), faultstore.None, late)
		gone := errors.New("the caller has left")
		_, err := g.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			ended, leave := context.WithCancelCause(ctx)
			leave(gone)
			refused := run.Start(ended)
			if !errors.Is(refused, gone) || errors.Is(refused, reprise.ErrLeaseLost) {
				t.Errorf("Start with an ended context: %v", refused)
			}
			return reprise.Response{}, refused
		})
		if !errors.Is(err, reprise.ErrNoEffect) || !errors.Is(err, gone) {
			t.Error(err)
		}
		outcome, err := g.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			return reprise.Response{}, run.Start(ctx)
		})
		if err != nil || outcome.Attempt != 1 {
			t.Errorf("the key is not as new: %+v, %v", outcome, err)
		}
		closeGuard(t, g)
	})
}
