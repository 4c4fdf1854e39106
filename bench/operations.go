package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

var answer256 = bytes.Repeat([]byte("answer: "), 32)

// operate begins a fresh key and completes it.
func operate(ctx context.Context, on store.Store) error {
	_, err := complete(ctx, on)
	return err
}

// complete makes a completed record and returns the command that began it.
func complete(ctx context.Context, on store.Store) (machine.Begin, error) {
	begin := newBegin()
	reply, err := on.Apply(ctx, begin)
	if err := expect(reply, err, machine.Acquired); err != nil {
		return begin, err
	}
	reply, err = on.Apply(ctx, machine.Complete{
		Hold: machine.Hold{Scope: begin.Scope, Owner: begin.Owner, Attempt: reply.Attempt, Revision: reply.Revision,
			Operation: begin.Operation, Nonce: begin.Nonce},
		Response: machine.NewResponse("raw/1", answer256), Window: time.Hour, Remember: time.Hour,
	})
	return begin, expect(reply, err, machine.CompletedNow)
}

// never is an instant after all others of a measurement.
const never = machine.Instant(1 << 60)

func newBegin() machine.Begin {
	return machine.Begin{
		Claim: machine.Claim{
			Scope: machine.Scope{Operation: "bench", SecretVersion: 1, Digest: random[machine.Digest]()},
			Owner: random[machine.Token](), Operation: random[machine.ID](),
			Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{1}}},
			Lease:        time.Minute, Policy: 1, Codecs: []string{"raw/1"},
			CreateBefore: never, // every claim of a guard has such a bound
		},
		Nonce: random[machine.Nonce](),
	}
}

func random[T machine.Digest | machine.Token | machine.ID | machine.Nonce]() (value T) {
	switch v := any(&value).(type) {
	case *machine.Digest:
		_, _ = rand.Read(v[:])
	case *machine.Token:
		_, _ = rand.Read(v[:])
	case *machine.ID:
		_, _ = rand.Read(v[:])
	case *machine.Nonce:
		_, _ = rand.Read(v[:])
	}
	return value
}

func expect(reply machine.Reply, err error, want machine.Outcome) error {
	if err != nil {
		return err
	}
	if reply.Outcome != want {
		return fmt.Errorf("answered %v, want %v", reply.Outcome, want)
	}
	return nil
}
