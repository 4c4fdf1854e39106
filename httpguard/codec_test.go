package httpguard

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise"
)

func TestCodec(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]Answer{
		"nothing":     {Status: 204, Header: http.Header{}},
		"headers":     {Status: 201, Header: http.Header{"Location": {"/orders/1"}, "Link": {"</a>", "</b>", ""}, "Empty": {}}},
		"body":        {Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("hello\x00\xff")},
		"long values": {Status: 999, Header: http.Header{"X": {strings.Repeat("v", 70000)}}, Body: bytes.Repeat([]byte("b"), 70000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := a.Response()
			if cap(response.Data) != len(response.Data) {
				t.Errorf("%d bytes in room for %d", len(response.Data), cap(response.Data))
			}
			got, err := ReadAnswer(response)
			if err != nil {
				t.Fatal(err)
			}
			if got.Body = append([]byte(nil), got.Body...); cmp.Diff(a, got) != "" {
				t.Error(cmp.Diff(a, got))
			}
		})
	}
	for _, bad := range []reprise.Response{{}, {Codec: reprise.CodecRaw, Data: Answer{Status: 200}.encode()}, {Codec: Codec}} {
		if a, err := ReadAnswer(bad); err == nil {
			t.Errorf("%+v was read as %+v", bad, a)
		}
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add([]byte{})
	f.Add(Answer{Status: 204}.encode())
	f.Add(Answer{Status: 201, Header: http.Header{"Location": {"/1"}, "Link": {"a", "b"}, "None": nil}, Body: []byte("body")}.encode())
	f.Add([]byte{1, 3, 0xc8, 1, 0xff})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := decodeAnswer(data)
		if err != nil {
			return
		}
		again, err := decodeAnswer(a.encode())
		if err != nil || again.Status != a.Status || !bytes.Equal(again.Body, a.Body) || len(again.Header) != len(a.Header) {
			t.Fatalf("%+v became %+v, %v", a, again, err)
		}
		for name, values := range a.Header {
			if strings.Join(values, "\x00") != strings.Join(again.Header[name], "\x00") {
				t.Fatalf("%q: %q became %q", name, values, again.Header[name])
			}
		}
	})
}
