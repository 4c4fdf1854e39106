package machine

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyRecord draws records with every field, set or not.
func anyRecord(t *rapid.T) *Record {
	bytes := func(label string, n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label) }
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	text := func(label string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, label)) }
	r := &Record{
		Scope:    Scope{Operation: text("operation name"), SecretVersion: rapid.Uint32().Draw(t, "secret version"), Digest: testScope.Digest},
		State:    State(rapid.IntRange(int(Claimed), int(Abandoned)).Draw(t, "state")),
		Attempt:  rapid.Uint32().Draw(t, "attempt"),
		Revision: rapid.Uint64().Draw(t, "revision"),
		Policy:   rapid.Uint32().Draw(t, "policy"),
		Reason:   text("reason"),
	}
	r.Interruption = Interruption(rapid.IntRange(0, 1).Draw(t, "interruption"))
	r.Fingerprint = Fingerprint{rapid.Uint32().Draw(t, "fingerprint version"), Digest(bytes("fingerprint", 32))}
	r.Operation = ID(bytes("operation", 16))
	for _, i := range r.times() {
		*i = Instant(rapid.Int64().Draw(t, "instant"))
	}
	if some("generation set") {
		r.Generation = Generation(bytes("generation", 16))
	}
	if some("owner set") {
		r.Owner = Digest(bytes("owner", 32))
	}
	if some("started") {
		r.Nonce = Nonce(bytes("nonce", 16))
	}
	if some("response set") {
		r.Response = Response{Codec: "text/1", Data: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data"), Digest: Digest(bytes("digest", 32))}
		r.Response.NotKept, r.Response.Sealed = some("not kept"), rapid.SampledFrom([]string{"", "key 1"}).Draw(t, "sealed")
	}
	if some("settled") {
		r.Settlement = Settlement{text("who"), text("why"), text("evidence"), Instant(rapid.Int64().Draw(t, "settled at"))}
	}
	if some("last set") {
		r.Last = Transition{Kind(rapid.IntRange(1, int(KindForget)).Draw(t, "kind")), r.Operation, rapid.Uint64().Draw(t, "from"), Digest(bytes("last", 32))}
		if some("last operation is another") {
			r.Last.Operation = ID(bytes("last operation", 16))
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "extensions") {
		r.Extensions = append(r.Extensions, Extension{rapid.Uint64().Draw(t, "tag"), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "extension")})
	}
	return r
}

func encode(r *Record) []byte {
	b, err := r.AppendBinary(nil)
	if err != nil {
		panic(err) // it never fails
	}
	return b
}

func TestStoredFormThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := anyRecord(t)
		b := encode(r)
		got, err := DecodeRecord(r.Scope.Digest, b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatalf("(-stored +read)\n%s", diff)
		}
		for i := range b { // the record keeps no reference to the bytes
			b[i] = 0xaa
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatalf("changed with the bytes that it was read from:\n%s", diff)
		}
	})
}

func TestStoredFormIsAppended(t *testing.T) {
	t.Parallel()
	r := completedBy(t, "a")
	b, err := r.AppendBinary([]byte("head"))
	if err != nil || string(b[:4]) != "head" || string(b[4:]) != string(encode(r)) {
		t.Errorf("%x, %v", b, err)
	}
}

// Every damage of one bit, and every cut, is noticed.
func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	b := encode(completedBy(t, "a"))
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, err := DecodeRecord(testScope.Digest, b); err == nil {
			t.Errorf("bit %d flipped, and read", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	for n := range len(b) {
		if _, err := DecodeRecord(testScope.Digest, b[:n]); err == nil {
			t.Errorf("cut after %d bytes, and read", n)
		}
	}
	if _, err := DecodeRecord(testScope.Digest, append(b, 0)); err == nil {
		t.Error("a byte too many, and read")
	}
}

// seal gives a body its checksum: what is wrong then is wrong by itself.
func seal(body []byte) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{}, body...), checksum(body))
}

func TestUnknownForms(t *testing.T) {
	t.Parallel()
	good := encode(completedBy(t, "a"))
	body := good[:len(good)-4]
	with := func(i int, b byte) []byte {
		changed := append([]byte{}, body...)
		changed[i] = b
		return seal(changed)
	}
	// The version of the secret follows the operation's name, and has 32 bits.
	huge := binary.AppendUvarint(append([]byte{}, body[:5+len(testScope.Operation)]...), 1<<32)
	for name, tc := range map[string]struct {
		stored []byte
		says   string
	}{
		"secret version":  {seal(append(huge, body[6+len(testScope.Operation):]...)), "number too large"},
		"newer form":      {with(0, formVersion+1), "stored form 2 is not known to this version, which reads form 1"},
		"form zero":       {with(0, 0), "stored form 0"},
		"absent":          {with(1, byte(Absent)), "no such state"},
		"expired":         {with(1, byte(Expired)), "no such state"},
		"newer flag":      {with(2, 0x80), "flags of a newer version"},
		"bytes left over": {seal(append(append([]byte{}, body...), 7)), "left over"},
		"cut, and sealed": {seal(body[:len(body)-1]), "bad number"},
		"nothing":         {nil, "too short"},
	} {
		if _, err := DecodeRecord(testScope.Digest, tc.stored); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

// What a newer version added survives all that an older one does with the record.
func TestExtensionsAreCarriedAlong(t *testing.T) {
	t.Parallel()
	r := *failedBy(t, "a", false)
	r.Extensions = []Extension{{Tag: 9, Data: []byte("newer")}, {Tag: 300, Data: []byte{}}}
	record, err := DecodeRecord(testScope.Digest, encode(&r))
	if err != nil {
		t.Fatal(err)
	}
	b := testClaim("b")
	b.Seen = 3
	for _, command := range []Command{
		Settle{Scope: testScope, Operation: idOf("o"), Revision: 2, Who: "w", Why: "y", Remember: remember},
		Begin{b, Nonce(idOf("b"))},
		Renew{Hold{testScope, b.Owner, 2, 4, b.Operation, Nonce(idOf("b"))}, lease},
		Complete{Hold{testScope, b.Owner, 2, 5, b.Operation, Nonce(idOf("b"))}, NewResponse("text/1", nil), remember, remember},
	} {
		next, reply := Step(record, command, noon)
		if !cmp.Equal(next.Extensions, r.Extensions) || next == record {
			t.Fatalf("%v: %v, extensions %v", command.Kind(), reply.Outcome, next.Extensions)
		}
		record = next
	}
}

// The bytes that earlier versions wrote can be read, and are written again in the same way. A change of
// the form needs a new version and a further file; this one stays.
func TestFormOneIsKept(t *testing.T) {
	t.Parallel()
	const file = "testdata/record-form-1.hex"
	r := *completedBy(t, "a")
	r.Generation, r.Response.Sealed, r.Response.NotKept = Generation{1}, "key 1", true
	r.Settlement = Settlement{"who", "why", "evidence", 12345}
	r.Last.Operation, r.Interruption = idOf("operator"), Rerun
	r.Extensions = []Extension{{Tag: 1, Data: []byte("x")}}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRecord(r.Scope.Digest, stored)
	if err != nil || !cmp.Equal(&r, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(&r, got))
	}
	if string(encode(&r)) != string(stored) {
		t.Errorf("the form has changed without a new version: %x", encode(&r))
	}
}

func FuzzDecodeRecord(f *testing.F) {
	t := &testing.T{}
	f.Add(encode(completedBy(t, "a")))
	f.Add(encode(failedBy(t, "a", false)))
	f.Add(encode(run(t, testClaim("a"), Acquired)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeRecord(testScope.Digest, b) // never panics
		if len(b) < 4 {
			return
		}
		// The checksum would keep the fuzzer out: it is put right, and what can be read is the same again.
		r, err := DecodeRecord(testScope.Digest, seal(b[:len(b)-4]))
		if err != nil {
			return
		}
		again, err := DecodeRecord(testScope.Digest, encode(r))
		if err != nil || !cmp.Equal(r, again) {
			t.Fatalf("%v\n%s", err, cmp.Diff(r, again))
		}
	})
}
