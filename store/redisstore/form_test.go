package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/machine"
)

// anyRecord draws records with every field, set or not, that were born at birth.
func anyRecord(t *rapid.T, birth machine.Instant) *machine.Record {
	bytes := func(label string, n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label) }
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	text := func(label string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, label)) }
	later := func(label string) machine.Instant {
		return birth + machine.Instant(rapid.Int64Range(0, int64(400*24*time.Hour/time.Microsecond)).Draw(t, label))
	}
	r := &machine.Record{
		Scope:      machine.Scope{Operation: text("operation name"), SecretVersion: rapid.Uint32().Draw(t, "secret version"), Digest: machine.Digest{1, 2, 3}},
		Generation: machine.Generation(bytes("generation", 16)),
		State:      machine.State(rapid.IntRange(int(machine.Claimed), int(machine.Abandoned)).Draw(t, "state")),
		Attempt:    rapid.Uint32().Draw(t, "attempt"), Revision: rapid.Uint64Min(1).Draw(t, "revision"),
		Policy: rapid.Uint32().Draw(t, "policy"), Reason: text("reason"),
		Interruption: machine.Interruption(rapid.IntRange(0, 1).Draw(t, "interruption")),
		Fingerprint:  machine.Fingerprint{Version: rapid.Uint32().Draw(t, "fingerprint version"), Sum: machine.Digest(bytes("fingerprint", 32))},
		Operation:    machine.ID(bytes("operation", 16)),
		Claimed:      later("claimed"), LeaseEnd: later("lease end"),
	}
	for _, i := range []*machine.Instant{&r.Started, &r.Finished, &r.WindowEnd, &r.RememberUntil} {
		if some("instant set") {
			*i = later("instant")
		}
	}
	if some("owner set") {
		r.Owner, r.Nonce = machine.Digest(bytes("owner", 32)), machine.Nonce(bytes("nonce", 16))
	}
	if some("response set") {
		r.Response = machine.NewResponse(rapid.SampledFrom([]string{"text/1", "raw/1", "http/1"}).Draw(t, "codec"), rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data"))
		r.Response.NotKept, r.Response.Sealed = some("not kept"), rapid.SampledFrom([]string{"", "key 1"}).Draw(t, "sealed")
		if some("digest of something else") {
			r.Response.Digest = machine.Digest(bytes("digest", 32))
		}
	}
	if some("settled") {
		r.Settlement = machine.Settlement{Who: text("who"), Why: text("why"), Evidence: text("evidence"), At: later("settled at")}
	}
	r.Last = machine.Transition{Kind: machine.Kind(rapid.IntRange(1, int(machine.KindForget)).Draw(t, "kind")), Operation: r.Operation, FromRevision: r.Revision - 1}
	if some("last is unusual") {
		r.Last.Operation, r.Last.FromRevision = machine.ID(bytes("last operation", 16)), rapid.Uint64().Draw(t, "from")
	}
	if r.Last.Digest = machine.Digest(bytes("last", 32)); some("last digest can be derived") {
		r.Last.Digest, _ = r.DeriveLast()
	}
	for range rapid.IntRange(0, 3).Draw(t, "extensions") {
		r.Extensions = append(r.Extensions, machine.Extension{Tag: rapid.Uint64().Draw(t, "tag"), Data: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "extension")})
	}
	return r
}

func TestStoredFormThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		birth := machine.Instant(rapid.Int64Range(1e12, 1e13).Draw(t, "birth")) * 1000
		r := anyRecord(t, birth)
		packed, life := pack(r, birth)
		if fading := fades(r.State, !r.RememberUntil.IsZero()); fading == (life == nominalLife) {
			t.Fatalf("a life of %d ms in state %v, remembered until %v", life, r.State, r.RememberUntil)
		}
		got, gotBirth, err := unpack(r.Scope.Digest, packed, r.Generation, birth+machine.Instant(life*1000))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); diff != "" || gotBirth != birth {
			t.Fatalf("born at %v, not %v; (-stored +read)\n%s", gotBirth, birth, diff)
		}
		for n := range packed { // cut short anywhere, it is refused or another record, and never a panic
			_, _, _ = unpack(r.Scope.Digest, packed[:n], r.Generation, birth)
			if len(identifyingPart(packed[:n])) > n {
				t.Fatal("the identifying part is longer than the record")
			}
		}
		part, ends := string(identifyingPart(packed)), 0
		if !finished(r.State) {
			ends = lifeSize
		}
		if !strings.HasSuffix(part[:len(part)-ends], string(r.Operation[:])) {
			t.Fatal("the identifying part does not end as it should")
		}
	})
}

func FuzzUnpack(f *testing.F) {
	begin := newBegin()
	r, _ := machine.Step(nil, begin, time.UnixMilli(1e12))
	packed, _ := pack(r, r.Claimed)
	f.Add(packed, int64(2e15))
	r, _ = machine.Step(r, completion(begin, "answer"), time.UnixMilli(1e12+5))
	packed, _ = pack(r, r.Claimed)
	f.Add(packed, int64(2e15))
	f.Fuzz(func(t *testing.T, packed []byte, expiry int64) {
		if _, _, err := unpack(machine.Digest{}, packed, machine.Generation{}, machine.Instant(expiry)); err == nil && len(packed) < 100 {
			t.Errorf("%d bytes were read as a record", len(packed))
		}
		identifyingPart(packed)
	})
}
