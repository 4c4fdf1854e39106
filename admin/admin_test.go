package admin_test

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 30 * time.Second

// shop is a store with a clock, and a way to bring keys into each state.
type shop struct {
	*memstore.Store
	t     *testing.T
	clock *atomic.Int64
}

func newShop(t *testing.T) *shop {
	t.Helper()
	clock := new(atomic.Int64)
	clock.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	return &shop{memstore.New(func() time.Time { return time.UnixMicro(clock.Load()) }), t, clock}
}

func (s *shop) advance(d time.Duration) { s.clock.Add(d.Microseconds()) }

func digest(key string) machine.Digest { return sha256.Sum256([]byte(key)) }

func (s *shop) apply(command machine.Command, want machine.Outcome) machine.Reply {
	s.t.Helper()
	reply, err := s.Apply(s.t.Context(), command)
	if err != nil || reply.Outcome != want {
		s.t.Fatalf("%v: %v %s, error %v; want %v", command.Kind(), reply.Outcome, reply.Reason, err, want)
	}
	return reply
}

// hold claims a key that is free or retryable, and starts it.
func (s *shop) hold(operation, key string, version uint32) machine.Hold {
	s.t.Helper()
	claim := machine.Claim{
		Scope: machine.Scope{Operation: operation, SecretVersion: version, Digest: digest(key)},
		Owner: machine.Token(digest("owner " + key)), Operation: machine.ID{1}, Lease: lease, Policy: 1,
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: digest("request")}}, Codecs: []string{"http/1"},
	}
	nonce := machine.Nonce{2}
	reply, err := s.Apply(s.t.Context(), machine.Begin{Claim: claim, Nonce: nonce})
	if err == nil && reply.Outcome == machine.Takeable {
		claim.Seen = reply.Revision
		reply, err = s.Apply(s.t.Context(), machine.Begin{Claim: claim, Nonce: nonce})
	}
	if err != nil || !reply.Outcome.Applied() {
		s.t.Fatalf("begin: %v, error %v", reply.Outcome, err)
	}
	return machine.Hold{Scope: claim.Scope, Owner: claim.Owner, Attempt: reply.Attempt, Revision: reply.Revision, Operation: claim.Operation, Nonce: nonce}
}

func (s *shop) complete(h machine.Hold) {
	s.t.Helper()
	s.apply(machine.Complete{Hold: h, Response: machine.NewResponse("http/1", []byte("secret answer")), Window: time.Hour, Remember: 2 * time.Hour}, machine.CompletedNow)
}

// abandon returns the revision to be judged.
func (s *shop) abandon(h machine.Hold) uint64 {
	s.t.Helper()
	return s.apply(machine.Fail{Hold: h, Reason: "the service hung up", Evidence: machine.NewResponse("http/1", []byte("504"))}, machine.Failed).Revision
}

// bare is a store that can do no more than Apply.
type bare struct{ inner store.Store }

func (b bare) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	return b.inner.Apply(ctx, command)
}
func (b bare) Close() error { return b.inner.Close() }
