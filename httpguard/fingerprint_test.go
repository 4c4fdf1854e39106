package httpguard

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/machine"
)

type sample struct {
	method, target, contentType, body string
}

func (s sample) request() *http.Request {
	if s.method == "" {
		s.method = "POST"
	}
	if s.target == "" {
		s.target = "/orders"
	}
	r := httptest.NewRequest(s.method, s.target, nil)
	if s.contentType != "" {
		r.Header.Set("Content-Type", s.contentType)
	}
	return r
}

func fingerprintOf(t *testing.T, s sample, exclude ...string) machine.Fingerprint {
	t.Helper()
	f, err := newFingerprinter(exclude)
	if err != nil {
		t.Fatal(err)
	}
	return f.sum(s.request(), []byte(s.body), &workspace{hash: sha256.New()})
}

const (
	jsonType = "application/json"
	partsA   = "--AA\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--AA\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ntwo\r\n--AA--\r\n"
	partsB   = "--BB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--BB\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ntwo\r\n--BB--\r\n"
	swapped  = "--BB\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ntwo\r\n--BB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--BB--\r\n"
	renamed  = "--BB\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\none\r\n--BB\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\ntwo\r\n--BB--\r\n"
	cutShort = "--AA\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b    sample
		same    bool
		exclude []string
	}{
		"the same bytes":             {a: sample{body: "x"}, b: sample{body: "x"}, same: true},
		"other bytes":                {a: sample{body: "x"}, b: sample{body: "y"}},
		"other method":               {a: sample{body: "x"}, b: sample{method: "PATCH", body: "x"}},
		"other path":                 {a: sample{target: "/a"}, b: sample{target: "/b"}},
		"targets without a path":     {a: sample{target: "x:http://host/a"}, b: sample{target: "x:http://host/b"}},
		"escaped slash in the path":  {a: sample{target: "/a/b"}, b: sample{target: "/a%2Fb"}},
		"other query":                {a: sample{target: "/a?x=1"}, b: sample{target: "/a?x=2"}},
		"path or query":              {a: sample{target: "/a?b"}, b: sample{target: "/a%3Fb"}},
		"other content type":         {a: sample{contentType: "text/plain", body: "x"}, b: sample{contentType: "text/html", body: "x"}},
		"other parameter":            {a: sample{contentType: "text/plain; charset=utf-8"}, b: sample{contentType: "text/plain; charset=latin1"}},
		"spelling of a content type": {a: sample{contentType: "Text/Plain;  Charset=utf-8"}, b: sample{contentType: `text/plain; charset="utf-8"`}, same: true},
		"JSON, reordered":            {a: sample{contentType: jsonType, body: `{"a":1,"b":2}`}, b: sample{contentType: jsonType, body: "{ \"b\": 2.0, \"a\": 1 }\n"}, same: true},
		"JSON with its charset":      {a: sample{contentType: jsonType, body: `{"a":1}`}, b: sample{contentType: "application/json; charset=UTF-8", body: `{"a":1}`}, same: true},
		"JSON by suffix":             {a: sample{contentType: "application/vnd.x+json", body: `{"a":1}`}, b: sample{contentType: "application/vnd.x+json", body: `{"a": 1}`}, same: true},
		"JSON, other value":          {a: sample{contentType: jsonType, body: `{"a":1}`}, b: sample{contentType: jsonType, body: `{"a":"1"}`}},
		"JSON, beyond 2^53":          {a: sample{contentType: jsonType, body: `9007199254740993`}, b: sample{contentType: jsonType, body: `9007199254740992`}},
		"JSON in another type":       {a: sample{contentType: "text/plain", body: `{"a":1}`}, b: sample{contentType: "text/plain", body: `{"a": 1}`}},
		"not JSON, the same":         {a: sample{contentType: jsonType, body: `{"a":`}, b: sample{contentType: jsonType, body: `{"a":`}, same: true},
		"not JSON, other spaces":     {a: sample{contentType: jsonType, body: `{"a":`}, b: sample{contentType: jsonType, body: `{"a": `}},
		"a name twice":               {a: sample{contentType: jsonType, body: `{"a":1,"a":2}`}, b: sample{contentType: jsonType, body: `{"a":2,"a":1}`}},
		"multipart":                  {a: sample{contentType: "multipart/form-data; boundary=AA", body: partsA}, b: sample{contentType: "multipart/form-data; boundary=BB", body: partsB}, same: true},
		"multipart, swapped":         {a: sample{contentType: "multipart/form-data; boundary=AA", body: partsA}, b: sample{contentType: "multipart/form-data; boundary=BB", body: swapped}},
		"multipart, renamed":         {a: sample{contentType: "multipart/form-data; boundary=AA", body: partsA}, b: sample{contentType: "multipart/form-data; boundary=BB", body: renamed}},
		"multipart, cut short":       {a: sample{contentType: "multipart/form-data; boundary=AA", body: cutShort}, b: sample{contentType: "multipart/form-data; boundary=AA", body: cutShort + "--AA--\r\n"}},
		"multipart, other content":   {a: sample{contentType: "multipart/form-data; boundary=AA", body: partsA}, b: sample{contentType: "multipart/form-data; boundary=BB", body: strings.Replace(partsB, "one", "two", 1)}},
		"excluded field":             {a: sample{contentType: jsonType, body: `{"a":1,"ts":1}`}, b: sample{contentType: jsonType, body: `{"a":1,"ts":2}`}, exclude: []string{"/ts"}, same: true},
		"excluded parameter":         {a: sample{target: "/a?x=1&ts=1"}, b: sample{target: "/a?ts=2&x=1"}, exclude: []string{"?ts"}, same: true},
		"excluded, spelled":          {a: sample{target: "/a?t%73=1"}, b: sample{target: "/a?ts"}, exclude: []string{"?ts"}, same: true},
		"not excluded":               {a: sample{target: "/a?tsx=1"}, b: sample{target: "/a?tsx=2"}, exclude: []string{"?ts"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if same := fingerprintOf(t, c.a, c.exclude...) == fingerprintOf(t, c.b, c.exclude...); same != c.same {
				t.Errorf("same: %v, want %v", same, c.same)
			}
		})
	}
}

// Fingerprints that were made under different exclusions have different versions: they are never
// compared, so that a change of configuration does not make a retry look like another request.
func TestFingerprintVersion(t *testing.T) {
	t.Parallel()
	s := sample{contentType: jsonType, body: `{"a":1}`}
	none, ts, other := fingerprintOf(t, s), fingerprintOf(t, s, "/ts"), fingerprintOf(t, s, "/other")
	if none.Version == ts.Version || ts.Version == other.Version || none.Version < 2 {
		t.Errorf("versions %#x %#x %#x", none.Version, ts.Version, other.Version)
	}
	if a, b := fingerprintOf(t, s, "/x", "?y", "/x"), fingerprintOf(t, s, "?y", "/x"); a != b {
		t.Error("the order of exclusions matters")
	}
}

func TestBadExclusions(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "?", "/", "ts", "meta/sentAt", "/a~2b", "/a~"} {
		if _, err := newFingerprinter([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	s := sample{contentType: jsonType, body: `{"customer":"c-18273","currency":"EUR","amount":1999,"items":[{"sku":"A-1","quantity":2,"price":4.99},{"sku":"B-7","quantity":1,"price":1001}],"note":"please deliver on Tuesday after five","address":{"street":"Main 5","city":"Linz","zip":"4020"}}`}
	f, _ := newFingerprinter(nil)
	r, body, w := s.request(), []byte(s.body), &workspace{hash: sha256.New()}
	b.ReportAllocs()
	for b.Loop() {
		f.sum(r, body, w)
	}
}
