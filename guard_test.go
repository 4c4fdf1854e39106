package reprise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
	"github.com/reprise-dev/reprise/store"
)

var errAction = errors.New("the service said no")

func order(key string) reprise.Call {
	return reprise.Call{Operation: "create order", Principal: "alice", Key: key, Payload: []byte(`{"item":1}`)}
}

// counted is an action that counts its runs and answers with their number.
func counted(runs *int) reprise.Action {
	return func(context.Context, *reprise.Run) (reprise.Response, error) {
		*runs++
		return reprise.Response{Data: fmt.Append(nil, *runs)}, nil
	}
}

func TestSameCallTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	first, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	if err != nil || !first.Ran || !first.Recorded || first.Replayed || first.Attempt != 1 || first.StoredAt.IsZero() {
		t.Fatalf("first: %+v, %v", first, err)
	}
	second, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	if err != nil || second.Ran || !second.Replayed || !bytes.Equal(second.Response.Data, first.Response.Data) {
		t.Fatalf("second: %+v, %v", second, err)
	}
	if second.StoredAt != first.StoredAt || second.Digest != first.Digest {
		t.Errorf("the replay says %v %v, the first said %v %v", second.StoredAt, second.Digest, first.StoredAt, first.Digest)
	}
	if runs != 1 {
		t.Errorf("ran %d times", runs)
	}
}

func TestWhatIsAnotherKey(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	calls := []reprise.Call{
		{Operation: "a", Principal: "p", Key: "k"}, {Operation: "ap", Principal: "k", Key: "k"},
		{Operation: "b", Principal: "p", Key: "k"}, {Operation: "a", Principal: "q", Key: "k"},
		{Operation: "a", Principal: "p", Key: "kk"}, {Operation: "a", Principal: "pk", Key: "k"},
	}
	for _, call := range calls {
		if _, err := bench.Guard.Do(t.Context(), call, counted(&runs)); err != nil {
			t.Errorf("%+v: %v", call, err)
		}
	}
	if runs != len(calls) {
		t.Errorf("%d runs for %d different calls", runs, len(calls))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	reading := func(codec string) reprise.Call {
		call := order("done")
		call.Codecs = []string{codec}
		return call
	}
	otherPayload := order("done")
	otherPayload.Payload = []byte(`{"item":2}`)
	for _, test := range []struct {
		name  string
		call  reprise.Call
		after time.Duration
		want  error
	}{
		{"another payload", otherPayload, 0, reprise.ErrMismatch},
		{"another payload, answer expired", otherPayload, 25 * time.Hour, reprise.ErrMismatch},
		{"answer expired", order("done"), 24 * time.Hour, reprise.ErrExpired},
		{"not kept", order("large"), 0, reprise.ErrNotKept},
		{"unknown", order("failed"), 0, reprise.ErrUnknown},
		{"unknown for ever", order("failed"), 1000 * 24 * time.Hour, reprise.ErrUnknown},
		{"no operation", reprise.Call{Principal: "p", Key: "k"}, 0, reprise.ErrInvalid},
		{"operation with a line break", reprise.Call{Operation: "o\n", Principal: "p", Key: "k"}, 0, reprise.ErrInvalid},
		{"no principal", reprise.Call{Operation: "o", Key: "k"}, 0, reprise.ErrInvalid},
		{"no key", reprise.Call{Operation: "o", Principal: "p"}, 0, reprise.ErrInvalid},
		{"blank key", reprise.Call{Operation: "o", Principal: "p", Key: " \t"}, 0, reprise.ErrInvalid},
		{"blank principal", reprise.Call{Operation: "o", Principal: " ", Key: "k"}, 0, reprise.ErrInvalid},
		{"blank operation", reprise.Call{Operation: " ", Principal: "p", Key: "k"}, 0, reprise.ErrInvalid},
		{"codec without a name", reading(""), 0, reprise.ErrInvalid},
		{"codec with a name too long", reading(strings.Repeat("c", machine.MaxCodecName+1)), 0, reprise.ErrInvalid},
		{"huge key", reprise.Call{Operation: "o", Principal: "p", Key: strings.Repeat("k", 1<<20)}, 0, reprise.ErrInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bench, runs := reprisetest.New(t, reprise.Policy{MaxKept: 100}), 0
			do := func(key string, response reprise.Response, err error) {
				_, _ = bench.Guard.Do(t.Context(), order(key), func(context.Context, *reprise.Run) (reprise.Response, error) { return response, err })
			}
			do("done", reprise.Response{}, nil)
			do("large", reprise.Response{Data: make([]byte, 101)}, nil)
			do("failed", reprise.Response{}, errAction)
			bench.Advance(test.after)
			outcome, err := bench.Guard.Do(t.Context(), test.call, counted(&runs))
			if !errors.Is(err, test.want) || runs != 0 || outcome.Ran {
				t.Errorf("ran %d times, outcome %+v, error %v; want %v", runs, outcome, err, test.want)
			}
		})
	}
}

func TestForgottenKeyIsNew(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	for range 2 {
		if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); err != nil {
			t.Fatal(err)
		}
		bench.Advance(reprise.DefaultRemember)
	}
	if runs != 2 {
		t.Errorf("ran %d times, want 2", runs)
	}
}

func TestEmptyAnswersAreAnswers(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"nil": nil, "empty": {}} {
		bench, runs := reprisetest.New(t, reprise.Policy{}), 0
		for range 2 {
			_, err := bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
				runs++
				return reprise.Response{Data: data}, nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if runs != 1 {
			t.Errorf("%s: ran %d times", name, runs)
		}
	}
}

func TestNoEffectMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	outcome, err := bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{Data: []byte("busy")}, reprise.NoEffect(errAction)
	})
	if !errors.Is(err, reprise.ErrNoEffect) || !errors.Is(err, errAction) || string(outcome.Response.Data) != "busy" || !outcome.Recorded {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if record := bench.Record(t, outcome.Digest); record.Reason != "no effect: "+errAction.Error() {
		t.Errorf("the reason is kept as %q", record.Reason)
	}
	again, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	if err != nil || !again.Ran || again.Attempt != 2 {
		t.Fatalf("again: %+v, %v", again, err)
	}
}

// That an action of one guard had no effect says nothing about the action of another that called it.
func TestNoEffectOfAGuardInside(t *testing.T) {
	t.Parallel()
	for name, returned := range map[string]func(inside error) error{
		"as it is":             func(inside error) error { return inside },
		"wrapped":              func(inside error) error { return fmt.Errorf("charging: %w", inside) },
		"with another error":   func(inside error) error { return errors.Join(errors.New("and mail"), inside) },
		"of no effect outside": reprise.NoEffect,
	} {
		outside, inside := reprisetest.New(t, reprise.Policy{}), reprisetest.New(t, reprise.Policy{})
		outcome, err := outside.Guard.Do(t.Context(), order("k"), func(ctx context.Context, _ *reprise.Run) (reprise.Response, error) {
			_, err := inside.Guard.Do(ctx, order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
				return reprise.Response{}, reprise.NoEffect(errAction)
			})
			if !errors.Is(err, reprise.ErrNoEffect) {
				t.Errorf("%s: inside: %v", name, err)
			}
			return reprise.Response{}, returned(err)
		})
		kind, state := reprise.ErrUnknown, machine.Abandoned
		if name == "of no effect outside" {
			kind, state = reprise.ErrNoEffect, machine.Retryable
		}
		var said *reprise.Error
		if !errors.As(err, &said) || said.Kind != kind || !errors.Is(err, errAction) {
			t.Errorf("%s: %v", name, err)
		}
		if record := outside.Record(t, outcome.Digest); record.State != state {
			t.Errorf("%s: %+v", name, record)
		}
	}
}

func TestPanicIsUnknownAndGoesOn(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v", got)
			}
		}()
		_, _ = bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) { panic("boom") })
	}()
	if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrUnknown) || runs != 0 {
		t.Errorf("after a panic: %v, %d runs", err, runs)
	}
}

func TestGoexitIsUnknown(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = bench.Guard.Do(context.Background(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
			runtime.Goexit()
			return reprise.Response{}, nil
		})
	}()
	<-done
	if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrUnknown) || runs != 0 {
		t.Errorf("after Goexit: %v, %d runs", err, runs)
	}
}

func TestCallerThatHangsUpIsRecorded(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	ctx, hangUp := context.WithCancel(t.Context())
	outcome, err := bench.Guard.Do(ctx, order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		hangUp()
		<-ctx.Done()
		return counted(&runs)(ctx, run)
	})
	if err != nil || !outcome.Recorded {
		t.Fatalf("%+v, %v", outcome, err)
	}
	if again, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); err != nil || !again.Replayed {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestCompleteBeforeTheEnd(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	outcome, err := bench.Guard.Do(t.Context(), order("k"), func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		if err := run.Complete(ctx, reprise.Response{Data: []byte("201"), NotKept: true}); err != nil {
			t.Error(err)
		}
		if r := bench.Record(t, run.Digest()); r.State != machine.Completed {
			t.Errorf("the record is %v when the answer leaves", r.State)
		}
		return reprise.Response{}, errAction
	})
	if err != nil || !outcome.Ran || !outcome.Recorded {
		t.Fatalf("%+v, %v", outcome, err)
	}
	_, err = bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	var e *reprise.Error
	if !errors.As(err, &e) || e.Kind != reprise.ErrNotKept || string(e.Response.Data) != "201" || e.StoredAt.IsZero() {
		t.Errorf("again: %+v", err)
	}
}

func TestClosedGuardRefuses(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	if err := bench.Guard.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrClosed) {
		t.Error(err)
	}
}

func TestPolicyMistakesAreToldAtStart(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]reprise.Policy{
		"no secrets":                   {},
		"lease under command time-out": {Lease: time.Second, CommandTimeout: time.Second},
		"a time-out beyond all leases": {Lease: time.Minute, CommandTimeout: math.MaxInt64/2 + 1}, // three times it is negative
		"window under retry horizon":   {ReplayWindow: time.Hour, RetryHorizon: 2 * time.Hour},
		"remember under window":        {ReplayWindow: 2 * time.Hour, Remember: time.Hour},
		"resolver without bound": {Resolver: func(context.Context, reprise.UnknownOperation) (reprise.Resolution, error) {
			return reprise.StillUnknown(), nil
		}},
		"negative wait": {Wait: -1},
	} {
		if name != "no secrets" {
			p.Secrets = reprisetest.Secrets(t)
		}
		if _, err := reprise.New(reprisetest.New(t, reprise.Policy{}).Store, p); !errors.Is(err, reprise.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSONComesBackAsItWasGiven(t *testing.T) {
	t.Parallel()
	type receipt struct {
		Number int    `json:"number"`
		Secret string `json:"-"`
	}
	bench := reprisetest.New(t, reprise.Policy{})
	for range 2 {
		got, err := reprise.DoJSON(t.Context(), bench.Guard, order("k"), func(context.Context, *reprise.Run) (receipt, error) {
			return receipt{Number: 7, Secret: "never recorded"}, nil
		})
		if err != nil || got != (receipt{Number: 7}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	_, err := reprise.DoJSON(t.Context(), bench.Guard, order("k"), func(context.Context, *reprise.Run) (string, error) { return "", nil })
	if !errors.Is(err, reprise.ErrIncompatible) {
		t.Errorf("as another type: %v", err)
	}
}

func TestPreparedInvocationIsOneAttempt(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	v, err := bench.Guard.Prepare(order("k"))
	if err != nil {
		t.Fatal(err)
	}
	apply := func(c machine.Command, want machine.Outcome) machine.Reply {
		reply, err := bench.Store.Apply(t.Context(), c)
		if err != nil || reply.Outcome != want {
			t.Fatalf("%v: %v %v, want %v", c.Kind(), reply.Outcome, err, want)
		}
		return reply
	}
	reply := apply(v.Begin(0, 0), machine.Acquired)
	apply(v.Complete(v.Hold(0, reply.Attempt, reply.Revision), machine.NewResponse(reprise.CodecRaw, []byte("done"))), machine.CompletedNow)
	outcome, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	if err != nil || string(outcome.Response.Data) != "done" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestErrorsCarryTheStores(t *testing.T) {
	t.Parallel()
	bench, runs := reprisetest.New(t, reprise.Policy{}), 0
	if err := bench.Guard.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bench.Store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs))
	if !errors.Is(err, reprise.ErrUnavailable) || !errors.Is(err, store.ErrUnavailable) || runs != 0 {
		t.Errorf("%v, %d runs", err, runs)
	}
}
