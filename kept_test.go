package reprise_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
)

// unkept are answers of which a record keeps only that they were given, under a policy that keeps 100 bytes.
func unkept() map[string]reprise.Response {
	return map[string]reprise.Response{
		"too large":               {Data: make([]byte, 101)},
		"with a note too large":   {Data: make([]byte, 101), NotKept: true},
		"codec name too long":     {Codec: strings.Repeat("c", machine.MaxCodecName+1), Data: []byte("answer")},
		"both too large and long": {Codec: strings.Repeat("c", 1000), Data: make([]byte, 101)},
	}
}

// An answer that a record cannot keep is given once, and its key is answered from then on: not unknown.
func TestAnswersThatCannotBeKept(t *testing.T) {
	t.Parallel()
	for name, response := range unkept() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bench := reprisetest.New(t, reprise.Policy{MaxKept: 100})
			outcome, err := bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) { return response, nil })
			if err != nil || !outcome.Ran || !outcome.Recorded || outcome.Response.Codec != response.Codec || len(outcome.Response.Data) != len(response.Data) {
				t.Fatalf("%+v, %v", outcome, err)
			}
			gone(t, bench, outcome.Digest)

			failed, err := bench.Guard.Do(t.Context(), order("failed"), func(context.Context, *reprise.Run) (reprise.Response, error) { return response, errAction })
			if record := bench.Record(t, failed.Digest); !errors.Is(err, reprise.ErrUnknown) || record.State != machine.Abandoned || !record.Response.NotKept {
				t.Errorf("as evidence: %v, %+v", err, record)
			}
		})
	}
}

// gone checks that a key is answered, with nothing that is kept.
func gone(t *testing.T, bench *reprisetest.Bench, digest machine.Digest) {
	t.Helper()
	runs := 0
	if _, err := bench.Guard.Do(t.Context(), order("k"), counted(&runs)); !errors.Is(err, reprise.ErrNotKept) || runs != 0 {
		t.Errorf("again: %v, %d runs", err, runs)
	}
	if record := bench.Record(t, digest); record.State != machine.Completed || !record.Response.NotKept || len(record.Response.Data) > 0 || len(record.Response.Codec) > machine.MaxCodecName {
		t.Errorf("%+v", record)
	}
}

// What a resolver says is kept as what an action says: the policy bounds it, and it settles the key however long it is.
func TestWhatAResolverSaysIsBounded(t *testing.T) {
	t.Parallel()
	for name, response := range unkept() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := resolving(func(reprise.UnknownOperation) (reprise.Resolution, error) {
				return reprise.Happened(response, strings.Repeat("order 17 exists ", 2000)), nil
			})
			p.MaxKept = 100
			bench := reprisetest.New(t, p)
			digest := bench.ForceUnknown(t, order("k"))
			bench.Advance(reprise.DefaultLease + longest + time.Second)
			if swept, err := bench.Guard.Sweep(t.Context()); err != nil || swept.Settled != 1 {
				t.Fatalf("%+v, %v", swept, err)
			}
			gone(t, bench, digest)
			if n := len(bench.Record(t, digest).Settlement.Evidence); n != machine.MaxStatement {
				t.Errorf("%d bytes of evidence are kept", n)
			}
		})
	}
}
