package faultstore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
	"github.com/reprise-dev/reprise/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var claim = machine.Claim{
	Scope: machine.Scope{Operation: "test", Digest: sha256.Sum256([]byte("key"))},
	Owner: machine.Token{1}, Operation: machine.ID{1}, Lease: time.Minute,
	Fingerprints: []machine.Fingerprint{{Version: 1}},
}

var renew = machine.Renew{
	Hold:  machine.Hold{Scope: claim.Scope, Owner: claim.Owner, Attempt: 1, Revision: 1, Operation: machine.ID{2}},
	Lease: time.Minute,
}

var release = machine.Release{Hold: renew.Hold}

// revision reads past the faults: 0 when there is no record.
func revision(t *testing.T, s store.Store) uint64 {
	t.Helper()
	inner, ok := store.As[*memstore.Store](s)
	if !ok {
		t.Fatal("the inner store is not found")
	}
	reply, err := inner.Apply(t.Context(), machine.Inspect{Scope: claim.Scope})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Revision
}

func TestEveryFaultSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault   faultstore.Fault
		err     error
		applied bool
	}{
		"none":       {faultstore.Fault{}, nil, true},
		"refused":    {faultstore.Refused(), store.ErrUnavailable, false},
		"lost":       {faultstore.Lost(), store.ErrLost, false},
		"unsent":     {faultstore.Unsent(), store.ErrIndeterminate, false},
		"reply lost": {faultstore.ReplyLost(), store.ErrIndeterminate, true},
		"twice":      {faultstore.Twice(), nil, true},
	} {
		s := faultstore.New(memstore.New(nil), faultstore.Nth(1, tc.fault))
		_, err := s.Apply(t.Context(), claim)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		}
		if tc.err != nil && store.Classify(err) != tc.err {
			t.Errorf("%s: classified as %v", name, store.Classify(err))
		}
		if applied := revision(t, s) == 1; applied != tc.applied {
			t.Errorf("%s: applied %v", name, applied)
		}
		if _, err := s.Apply(t.Context(), claim); err != nil {
			t.Errorf("%s: the second command: %v", name, err)
		}
	}
}

func TestTwiceAnswersTheFirst(t *testing.T) {
	t.Parallel()
	s := faultstore.New(memstore.New(nil), faultstore.Nth(1, faultstore.Twice()))
	reply, err := s.Apply(t.Context(), claim)
	if err != nil || reply.Outcome != machine.Acquired {
		t.Fatalf("%v, %v", reply.Outcome, err)
	}
}

func TestHeldCommandIsAppliedThoughItsCallerLeft(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := faultstore.New(memstore.New(nil), faultstore.Nth(1, faultstore.HeldUntil(open)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Apply(ctx, claim); !errors.Is(err, store.ErrIndeterminate) {
		t.Fatalf("%v", err)
	}
	if revision(t, s) != 0 {
		t.Fatal("applied before it was let go")
	}
	close(open)
	s.Settle()
	if revision(t, s) != 1 {
		t.Fatal("not applied after it was let go")
	}
}

func TestHeldCommandAnswersACallerWhoWaits(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := faultstore.New(memstore.New(nil), faultstore.First(machine.KindClaim, faultstore.HeldUntil(open)))
	close(open)
	if reply, err := s.Apply(t.Context(), claim); err != nil || reply.Outcome != machine.Acquired {
		t.Fatalf("%v, %v", reply.Outcome, err)
	}
}

func TestLateReply(t *testing.T) {
	t.Parallel()
	s := faultstore.New(memstore.New(nil), faultstore.Nth(1, faultstore.AnsweredAfter(make(chan struct{}))))
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := s.Apply(ctx, claim)
		result <- err
	}()
	for revision(t, s) == 0 { // until it took effect
		runtime.Gosched()
	}
	gone := errors.New("gone")
	cancel(gone)
	if err := <-result; !errors.Is(err, store.ErrIndeterminate) || !errors.Is(err, gone) {
		t.Fatalf("%v", err)
	}
}

func TestLateCopyAfterTheKeyWasGivenUp(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := faultstore.New(memstore.New(nil), faultstore.First(machine.KindClaim, faultstore.CopiedLate(open)))
	for _, command := range []machine.Command{claim, release} {
		if _, err := s.Apply(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	if revision(t, s) != 0 {
		t.Fatal("the copy was not held back")
	}
	close(open)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), claim); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("after Close: %v", err)
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	refused, replyLost := faultstore.Refused(), faultstore.ReplyLost()
	commands := []machine.Command{claim, renew, renew, release, renew}
	for name, tc := range map[string]struct {
		plan faultstore.Plan
		want string // one letter a command: r refused, l reply lost, . none
	}{
		"none":  {faultstore.None, "....."},
		"nth":   {faultstore.Nth(2, refused), ".r..."},
		"from":  {faultstore.From(4, refused), "...rr"},
		"first": {faultstore.First(machine.KindRenew, refused), ".r..."},
		"every": {faultstore.Every(machine.KindRenew, refused), ".rr.r"},
		"both":  {faultstore.Both(faultstore.Nth(1, replyLost), faultstore.From(1, refused)), "lrrrr"},
	} {
		got := ""
		for i, command := range commands {
			switch tc.plan(i+1, command) {
			case faultstore.Fault{}:
				got += "."
			case replyLost:
				got += "l"
			default:
				got += "r"
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestSetPlanCountsAnew(t *testing.T) {
	t.Parallel()
	s := faultstore.New(memstore.New(nil), nil)
	for range 3 {
		_, _ = s.Apply(t.Context(), claim)
	}
	if s.Commands() != 3 {
		t.Fatalf("counted %d", s.Commands())
	}
	s.SetPlan(faultstore.Nth(1, faultstore.Refused()))
	if _, err := s.Apply(t.Context(), claim); !errors.Is(err, store.ErrUnavailable) || s.Commands() != 1 {
		t.Fatalf("%v, counted %d", err, s.Commands())
	}
	s.SetPlan(nil)
	if _, err := s.Apply(t.Context(), claim); err != nil || s.Commands() != 1 {
		t.Fatalf("%v, counted %d", err, s.Commands())
	}
}

// A caller that sends the same command again learns the truth, whether or not the first was applied.
func ExampleNth() {
	for _, fault := range []faultstore.Fault{faultstore.Unsent(), faultstore.ReplyLost()} {
		s := faultstore.New(memstore.New(nil), faultstore.Nth(1, fault))
		_, err := s.Apply(context.Background(), claim)
		reply, _ := s.Apply(context.Background(), claim)
		fmt.Println(errors.Is(err, store.ErrIndeterminate), reply.Outcome, reply.Attempt)
	}
	// Output:
	// true acquired 1
	// true replayed-acquire 1
}

// A copy whose time is over belies nothing: the caller gets the reply of the first delivery.
func TestACopyThatFailsAnswersNobody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	inner := cancelling{memstore.New(nil), cancel}
	s := faultstore.New(inner, faultstore.Nth(1, faultstore.Twice()))
	reply, err := s.Apply(ctx, claim)
	if err != nil || reply.Outcome != machine.Acquired {
		t.Errorf("%v, %v", reply.Outcome, err)
	}
}

// cancelling ends the caller's context after the first command.
type cancelling struct {
	store.Store
	cancel context.CancelFunc
}

func (c cancelling) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	defer c.cancel()
	return c.Store.Apply(ctx, command)
}
