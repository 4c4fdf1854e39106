package httpguard

import (
	"bytes"
	"crypto/sha256"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"
)

const multipartType = "multipart/form-data; boundary="

// parts writes a multipart body of n parts.
func parts(boundary string, n int) string {
	return strings.Repeat("--"+boundary+"\r\n\r\n\r\n", n) + "--" + boundary + "--\r\n"
}

// Each part costs more than its bytes. A body of more parts than anybody sends is compared as bytes.
func TestManyParts(t *testing.T) {
	t.Parallel()
	same := func(n int) bool {
		a := sample{contentType: multipartType + "AA", body: parts("AA", n)}
		b := sample{contentType: multipartType + "BB", body: parts("BB", n)}
		return fingerprintOf(t, a) == fingerprintOf(t, b)
	}
	if !same(maxParts) {
		t.Errorf("%d parts are compared with their boundary", maxParts)
	}
	if same(maxParts + 1) {
		t.Errorf("%d parts are compared one by one", maxParts+1)
	}
	// Lines of headers count as well.
	lines := func(boundary string, n int) sample {
		part := "--" + boundary + "\r\n" + strings.Repeat("A:\r\n", 5000) + "\r\n\r\n"
		return sample{contentType: multipartType + boundary, body: strings.Repeat(part, n) + "--" + boundary + "--\r\n"}
	}
	if fingerprintOf(t, lines("AA", 1)) != fingerprintOf(t, lines("BB", 1)) {
		t.Error("one part with many lines of headers is compared with its boundary")
	}
	if n := maxPartLines/5000 + 1; fingerprintOf(t, lines("AA", n)) == fingerprintOf(t, lines("BB", n)) {
		t.Error("any number of lines of headers is read")
	}
}

// What a part is read and hashed with is used again: what is left are the 7 allocations of mime/multipart and
// for its header.
func TestPartsShareMemory(t *testing.T) {
	body, w := []byte(parts("AA", 1000)), &workspace{hash: sha256.New()}
	w.sumParts(body, "AA")
	if each := testing.AllocsPerRun(5, func() { w.sumParts(body, "AA") }) / 1000; each > 8 {
		t.Errorf("%.1f allocations for each part", each)
	}
}

// FuzzMultipart: any bytes are taken; the boundary does not matter, and everything else does.
func FuzzMultipart(f *testing.F) {
	f.Add([]byte(partsA), "a", []byte("one"))
	f.Add([]byte(cutShort), "", []byte("--AA"))
	f.Add([]byte("--AA\nX:y\n\n\n--AA--"), "a\r\nb", []byte("\r\n--AA--\r\n"))
	f.Add([]byte("\r\n--AA  \r\n:\r\n\r\n--AA-"), "x", []byte{0})
	f.Fuzz(func(t *testing.T, body []byte, name string, content []byte) {
		w := &workspace{hash: sha256.New()}
		first, ok := w.sumParts(body, "AA")
		first = slices.Clone(first)
		if again, okAgain := w.sumParts(body, "AA"); ok != okAgain || !bytes.Equal(first, again) {
			t.Fatal("the same body gives two sums")
		}
		write := func(boundary string, content []byte) []byte {
			var out bytes.Buffer
			to := multipart.NewWriter(&out)
			if to.SetBoundary(boundary) != nil {
				t.Fatal("boundary")
			}
			for range 2 {
				part, _ := to.CreatePart(textproto.MIMEHeader{"Name": {strings.Map(printable, name)}})
				_, _ = part.Write(content)
			}
			_ = to.Close()
			return out.Bytes()
		}
		if bytes.Contains(content, []byte("--")) {
			return // it may hold the boundary
		}
		sum := func(boundary string, content []byte) string {
			sum, ok := w.sumParts(write(boundary, content), boundary)
			if !ok {
				t.Fatalf("a proper body was refused: %q", write(boundary, content))
			}
			return string(sum)
		}
		if sum("AA", content) != sum("another", content) {
			t.Fatal("the boundary matters")
		}
		if sum("AA", content) == sum("AA", append([]byte("x"), content...)) {
			t.Fatal("the content does not matter")
		}
	})
}

// printable leaves out what cannot stand in a header.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}
