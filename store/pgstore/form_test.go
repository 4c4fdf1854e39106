package pgstore

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/machine"
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
			got, err := unpack(record.Scope.Digest, pack(record))
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
		a, b := pack(record), pack(lives(begin, []byte("answer"), later)[name])
		if name == "settled" {
			continue // its settlement tells a time, and settlements are written by steps only
		}
		if !bytes.Equal(a.record, b.record) || !bytes.Equal(a.answer, b.answer) {
			t.Errorf("%s: packed differently", name)
		}
		if moved := b.claimedAt - a.claimedAt; a.forgetAt != 0 && b.forgetAt-a.forgetAt != moved {
			t.Errorf("%s: forgotten at %v and %v", name, a.forgetAt, b.forgetAt)
		}
	}
}

func TestAnswersOfAllShapes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 6000).Draw(t, "data")
		want := machine.Response{
			Codec: rapid.StringN(1, 20, 64).Draw(t, "codec"), Data: data, Digest: sha256.Sum256(data),
			NotKept: rapid.Bool().Draw(t, "not kept"), Sealed: rapid.StringN(0, 10, 40).Draw(t, "sealed"),
		}
		if want.Sealed != "" {
			want.Digest = sha256.Sum256(append(data, 1)) // of the plain bytes
		}
		packed := packAnswer(want)
		got, err := unpackAnswer(packed)
		if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		packed[rapid.IntRange(0, len(packed)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := unpackAnswer(packed); err == nil {
			t.Fatal("a damaged answer was read")
		}
	})
}

func FuzzUnpackAnswer(f *testing.F) {
	f.Add(packAnswer(machine.NewResponse("http/1", []byte("answer"))))
	f.Add([]byte{1, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := unpackAnswer(b)
		if err == nil && r.Codec == "" {
			t.Error("an answer without a codec")
		}
		if sealed := append(b, 0, 0, 0, 0); len(b) > 1 {
			// With a right checksum, to get further.
			sum := checksum(b)
			sealed[len(b)], sealed[len(b)+1], sealed[len(b)+2], sealed[len(b)+3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
			if r, err := unpackAnswer(sealed); err == nil && r.Codec == "" {
				t.Error("an answer without a codec")
			}
		}
	})
}
