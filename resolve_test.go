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

const longest = 10 * time.Minute

func resolving(answer func(reprise.UnknownOperation) (reprise.Resolution, error)) reprise.Policy {
	return reprise.Policy{
		LongestAction: longest,
		Resolver: func(_ context.Context, u reprise.UnknownOperation) (reprise.Resolution, error) {
			return answer(u)
		},
	}
}

func TestResolverSettlesOnDemand(t *testing.T) {
	t.Parallel()
	happened := reprise.Happened(reprise.Response{Data: []byte("found")}, "order 17 exists")
	for name, test := range map[string]struct {
		resolution reprise.Resolution
		err        error
		want       error
		answer     string
		runs       int
	}{
		"happened":       {happened, nil, nil, "found", 0},
		"did not happen": {reprise.DidNotHappen("no such order"), nil, nil, "1", 1},
		"still unknown":  {reprise.StillUnknown(), nil, reprise.ErrUnknown, "", 0},
		"fails":          {happened, errAction, reprise.ErrUnknown, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			bench, runs := reprisetest.New(t, resolving(func(u reprise.UnknownOperation) (reprise.Resolution, error) {
				if asked++; u.Operation != "create order" || u.DownstreamKey("charge") == "" || u.Attempt != 1 {
					t.Errorf("asked about %+v", u)
				}
				return test.resolution, test.err
			})), 0
			digest := bench.ForceUnknown(t, order("k"))
			bench.Advance(reprise.DefaultLease + longest - time.Second)
			if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrUnknown) || asked != 0 {
				t.Fatalf("asked %d times while the action may still run: %v", asked, err)
			}
			bench.Advance(time.Second)
			outcome, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
			if !errors.Is(err, test.want) || string(outcome.Response.Data) != test.answer || runs != test.runs || asked != 1 {
				t.Errorf("%+v, %v, %d runs, asked %d times", outcome, err, runs, asked)
			}
			if test.runs == 0 && test.want == nil {
				if s := bench.Record(t, digest).Settlement; s.Who != "resolver" || s.Evidence == "" {
					t.Errorf("settlement %+v", s)
				}
			}
		})
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, resolving(func(u reprise.UnknownOperation) (reprise.Resolution, error) {
		if u.Reason == machine.ReasonInterrupted {
			return reprise.DidNotHappen("nothing there"), nil
		}
		return reprise.StillUnknown(), nil
	}))
	bench.ForceUnknown(t, order("failed"))
	v, err := bench.Guard.Prepare(order("interrupted"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Store.Apply(t.Context(), v.Begin(0, 0)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		advance time.Duration
		want    reprise.Swept
	}{
		{0, reprise.Swept{}},
		{reprise.DefaultLease + longest, reprise.Swept{Asked: 2, Settled: 1}},
		{0, reprise.Swept{Asked: 1}},
	} {
		bench.Advance(step.advance)
		if swept, err := bench.Guard.Sweep(t.Context()); err != nil || swept != step.want {
			t.Errorf("%+v, %v; want %+v", swept, err, step.want)
		}
	}
	if r := bench.Record(t, v.Candidates[0].Scope.Digest); r.State != machine.Retryable {
		t.Errorf("the interrupted one is %v", r.State)
	}
}

func TestSweepNeedsAResolver(t *testing.T) {
	t.Parallel()
	if _, err := reprisetest.New(t, reprise.Policy{}).Guard.Sweep(t.Context()); !errors.Is(err, reprise.ErrInvalid) {
		t.Error(err)
	}
}

// TestResolverDoesNotRunTheActionAgain: the action ran, and its invocation was refused as the owner, because
// another one took over and ended unknown. Even if the resolver knows that nothing happened, this call has
// had its run.
func TestResolverDoesNotRunTheActionAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New(nil)
		p := resolving(func(reprise.UnknownOperation) (reprise.Resolution, error) { return reprise.DidNotHappen("asked"), nil })
		p.Interruption, p.LongestAction = reprise.Rerun, time.Second
		slow, _ := guardOver(t, inner, faultstore.Every(machine.KindRenew, faultstore.Refused()), p)
		defer closeGuard(t, slow)
		quick, _ := guardOver(t, inner, nil, reprise.Policy{Interruption: reprise.Rerun})
		defer closeGuard(t, quick)
		runs := 0
		outcome, err := slow.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
			runs++
			<-ctx.Done()
			_, err := quick.Do(context.Background(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
				return reprise.Response{}, errAction
			})
			if !errors.Is(err, reprise.ErrUnknown) {
				t.Error(err)
			}
			<-time.After(2 * reprise.DefaultLease)
			return reprise.Response{Data: []byte("own")}, nil
		})
		if !errors.Is(err, reprise.ErrUnknown) || outcome.Ran || runs != 1 {
			t.Errorf("%+v, %v, %d runs", outcome, err, runs)
		}
	})
}
