package form

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/machine"
)

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
		got, err := UnpackAnswer(packed)
		if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		packed[rapid.IntRange(0, len(packed)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := UnpackAnswer(packed); err == nil {
			t.Fatal("a damaged answer was read")
		}
	})
}

func FuzzUnpackAnswer(f *testing.F) {
	f.Add(packAnswer(machine.NewResponse("http/1", []byte("answer"))))
	f.Add([]byte{1, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := UnpackAnswer(b)
		if err == nil && r.Codec == "" {
			t.Error("an answer without a codec")
		}
		if sealed := append(b, 0, 0, 0, 0); len(b) > 1 {
			// With a right checksum, to get further.
			sum := checksum(b)
			sealed[len(b)], sealed[len(b)+1], sealed[len(b)+2], sealed[len(b)+3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
			if r, err := UnpackAnswer(sealed); err == nil && r.Codec == "" {
				t.Error("an answer without a codec")
			}
		}
	})
}
