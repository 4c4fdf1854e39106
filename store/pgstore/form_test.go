package pgstore

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// lives makes records of all states by the machine itself, at a time.
func lives(begin machine.Begin, answer []byte, at time.Time) map[string]*machine.Record {
	step := func(r *machine.Record, c machine.Command, after time.Duration) *machine.Record {
		next, _ := machine.Step(r, c, at.Add(after))
		return next
	}
	done := completion(begin, answer)
	fail := machine.Fail{Hold: done.Hold, Reason: "upstream", Evidence: machine.NewResponse("text/1", answer), Remember: time.Hour}
	noEffect := fail
	noEffect.NoEffect = true
	executing := step(nil, begin, 0)
	abandoned := step(executing, fail, time.Second)
	settle := machine.Settle{
		Scope: begin.Scope, Operation: machine.ID{9}, Revision: 2, Completed: true, Response: done.Response, Remember: time.Hour, Who: "who", Why: "why",
	}
	return map[string]*machine.Record{
		"claimed": step(nil, begin.Claim, 0), "executing": executing, "renewed": step(executing, machine.Renew{Hold: done.Hold, Lease: time.Minute}, time.Second),
		"completed": step(executing, done, time.Second), "abandoned": abandoned, "retryable": step(executing, noEffect, time.Second),
		"settled": step(abandoned, settle, time.Hour), // with a window of nothing
	}
}

func TestRowsHoldRecords(t *testing.T) {
	t.Parallel()
	for _, answer := range [][]byte{nil, {}, []byte("answer"), bytes.Repeat([]byte("long"), 2000)} {
		for name, record := range lives(newBegin(), answer, time.UnixMicro(1_900_000_000_000_000)) {
			got, err := unpack(record.Scope.Digest, form.Pack(record))
			if diff := cmp.Diff(record, got, cmp.Comparer(bytes.Equal)); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	}
}

// The packed form is the same whenever it happens: only so can the server's clock decide.
func TestPackedRecordsHaveNoTimeOfTheirOwn(t *testing.T) {
	t.Parallel()
	begin, earlier, later := newBegin(), time.UnixMicro(1), time.UnixMicro(1_900_000_000_123_456)
	for name, record := range lives(begin, []byte("answer"), earlier) {
		a, b := form.Pack(record), form.Pack(lives(begin, []byte("answer"), later)[name])
		if name == "settled" {
			continue // its settlement tells a time, and settlements are written by steps only
		}
		if !bytes.Equal(a.Record, b.Record) || !bytes.Equal(a.Answer, b.Answer) {
			t.Errorf("%s: packed differently", name)
		}
		if moved := b.ClaimedAt - a.ClaimedAt; a.ForgetAt != 0 && b.ForgetAt-a.ForgetAt != moved {
			t.Errorf("%s: forgotten at %v and %v", name, a.ForgetAt, b.ForgetAt)
		}
	}
}
