package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// clock stands still until it is moved.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.micros.Store(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// open opens a store that is closed at the end of the test.
func open(t testing.TB, path string, options Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// newStore opens a store in a file of its own.
func newStore(t testing.TB, options Options) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "reprise.db"), options)
}

// integrity asks SQLite whether the file is sound.
func integrity(s *Store) error {
	return s.do(context.Background(), func(t *transaction, _ time.Time) error {
		return t.conn.query("PRAGMA integrity_check", 1, func(row []driver.Value) error {
			if row[0] != "ok" {
				return fmt.Errorf("integrity check: %v", row[0])
			}
			return nil
		})
	})
}

// apply runs a command that must not fail.
func apply(t testing.TB, s *Store, command machine.Command) machine.Reply {
	t.Helper()
	reply, err := s.Apply(t.Context(), command)
	if err != nil {
		t.Fatalf("%v: %v", command.Kind(), err)
	}
	return reply
}

// want runs a command that must have an outcome.
func want(t testing.TB, s *Store, outcome machine.Outcome, command machine.Command) machine.Reply {
	t.Helper()
	reply := apply(t, s, command)
	if reply.Outcome != outcome {
		t.Fatalf("%v: outcome %v (%s), want %v", command.Kind(), reply.Outcome, reply.Reason, outcome)
	}
	return reply
}

// newBegin returns a begin on a fresh key.
func newBegin() machine.Begin {
	begin := machine.Begin{Claim: machine.Claim{
		Scope:        machine.Scope{Operation: "POST /orders", SecretVersion: 1},
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{1}}},
		Lease:        30 * time.Second, Policy: 1, Codecs: []string{"http/1"},
	}}
	// crypto/rand never fails.
	rand.Read(begin.Scope.Digest[:])
	rand.Read(begin.Owner[:])
	rand.Read(begin.Operation[:])
	rand.Read(begin.Nonce[:])
	return begin
}

// anotherCaller returns a begin for the same request from somebody else.
func anotherCaller(b machine.Begin) machine.Begin {
	other := newBegin()
	other.Scope, other.Fingerprints = b.Scope, b.Fingerprints
	return other
}

// completion returns the completion of a begin that acquired its key.
func completion(b machine.Begin, answer []byte) machine.Complete {
	return machine.Complete{
		Hold: machine.Hold{
			Scope: b.Scope, Owner: b.Owner, Attempt: 1, Revision: 1, Operation: b.Operation, Nonce: b.Nonce,
		},
		Response: machine.NewResponse("http/1", answer), Window: time.Hour, Remember: 24 * time.Hour,
	}
}
