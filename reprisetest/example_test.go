package reprisetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/reprisetest"
)

func charge(ctx context.Context, guard *reprise.Guard, key string, charges *int) (string, error) {
	return reprise.DoJSON(ctx, guard, reprise.Call{Operation: "charge", Principal: "alice", Key: key},
		func(context.Context, *reprise.Run) (string, error) {
			*charges++
			return "charged", nil
		})
}

// A program's own test: what does it do when an earlier charge has an unknown outcome?
func TestUnknownCharge(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{})
	digest := bench.ForceUnknown(t, reprise.Call{Operation: "charge", Principal: "alice", Key: "k1"})
	charges := 0
	if _, err := charge(t.Context(), bench.Guard, "k1", &charges); !errors.Is(err, reprise.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	bench.Settle(t, digest, reprise.Response{Codec: reprise.CodecJSON, Data: []byte(`"charged"`)})
	if answer, err := charge(t.Context(), bench.Guard, "k1", &charges); err != nil || answer != "charged" {
		t.Errorf("after settling: %q, %v", answer, err)
	}
	if charges != 0 {
		t.Errorf("charged %d times", charges)
	}
	bench.Advance(reprise.DefaultReplayWindow)
	if _, err := charge(t.Context(), bench.Guard, "k1", &charges); !errors.Is(err, reprise.ErrExpired) {
		t.Errorf("after the window: %v, want ErrExpired", err)
	}
}

func TestSettledAsNotHappened(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{Lease: 10 * time.Second})
	digest := bench.ForceUnknown(t, reprise.Call{Operation: "charge", Principal: "alice", Key: "k1"})
	bench.SettleRetryable(t, digest)
	charges := 0
	if _, err := charge(t.Context(), bench.Guard, "k1", &charges); err != nil || charges != 1 {
		t.Errorf("charged %d times, %v", charges, err)
	}
	if record := bench.Record(t, digest); record.Attempt != 2 {
		t.Errorf("attempt %d, want 2", record.Attempt)
	}
}
