// Package reprisetest helps programs that use package reprise to test how they behave when a call is
// sent again, arrives together with its duplicate, or ends with an unknown outcome.
package reprisetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/memstore"
)

// Bench is a guard over a store in memory, with a clock that a test moves.
type Bench struct {
	// Guard is the guard. It is closed when the test ends.
	Guard *reprise.Guard
	// Store holds its records.
	Store *memstore.Store

	mu     sync.Mutex
	offset time.Duration
}

// errForced is what an action returns that ForceUnknown made up.
var errForced = errors.New("forced by a test")

// New returns a bench. The policy's Secrets may be nil: then they are [Secrets].
func New(t testing.TB, policy reprise.Policy) *Bench {
	t.Helper()
	b := &Bench{}
	b.Store = memstore.New(func() time.Time { return time.Now().Add(b.moved()) })
	if policy.Secrets == nil {
		policy.Secrets = Secrets(t)
	}
	guard, err := reprise.New(b.Store, policy)
	if err != nil {
		t.Fatal(err)
	}
	b.Guard = guard
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := guard.Close(ctx); err != nil {
			t.Error(err)
		}
		_ = b.Store.Close() // memory: nothing can fail
	})
	return b
}

// Secrets returns secrets for tests: version 1, the same bytes always.
func Secrets(t testing.TB) *reprise.Secrets {
	t.Helper()
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: bytes.Repeat([]byte("reprise."), 4)})
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

func (b *Bench) moved() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.offset
}

// Advance moves the store's clock: leases run out, windows end.
func (b *Bench) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offset += d
}

// ForceUnknown makes the outcome of a call unknown, as if its action had died half way. The call must
// be new. It returns the record's digest.
func (b *Bench) ForceUnknown(t testing.TB, call reprise.Call) machine.Digest {
	t.Helper()
	outcome, err := b.Guard.Do(context.Background(), call, func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{}, errForced
	})
	if !outcome.Ran || !errors.Is(err, reprise.ErrUnknown) {
		t.Fatalf("the call is not new: %v", err)
	}
	return outcome.Digest
}

// Settle decides an unknown outcome as an operator would: it happened, with this response.
func (b *Bench) Settle(t testing.TB, digest machine.Digest, response reprise.Response) {
	t.Helper()
	b.settle(t, digest, machine.Settle{Completed: true, Response: response.Record(), Window: reprise.DefaultReplayWindow})
}

// SettleRetryable decides an unknown outcome as an operator would: it has not happened.
func (b *Bench) SettleRetryable(t testing.TB, digest machine.Digest) {
	t.Helper()
	b.settle(t, digest, machine.Settle{})
}

func (b *Bench) settle(t testing.TB, digest machine.Digest, c machine.Settle) {
	t.Helper()
	record := b.Record(t, digest)
	c.Scope, c.Revision, c.Operation = record.Scope, record.Revision, machine.ID{1}
	c.Who, c.Why, c.Remember = "test", "settled by a test", reprise.DefaultRemember
	reply, err := b.Store.Apply(context.Background(), c)
	if err != nil || reply.Outcome != machine.SettledNow {
		t.Fatalf("not settled: %v %v", reply.Outcome, err)
	}
}

// Record returns the record with a digest. It is shared: do not change it.
func (b *Bench) Record(t testing.TB, digest machine.Digest) *machine.Record {
	t.Helper()
	reply, err := b.Store.Apply(context.Background(), machine.Inspect{Scope: machine.Scope{Digest: digest}})
	if err != nil || reply.Outcome != machine.Found {
		t.Fatalf("record %v: %v %v", digest, reply.Outcome, err)
	}
	return reply.Record
}
