package httpguard

import (
	"crypto/sha256"
	"encoding/binary"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/machine"
)

// fingerprintRules counts changes of the rules in this file, json.go and multipart.go. A process that
// is to compare with records of older rules must be able to compute them too.
const fingerprintRules = 1

// fingerprinter digests requests: method, path, query, content type and body.
type fingerprinter struct {
	// version is that of the rules (high byte) and of the exclusions (a digest of them), so that
	// fingerprints which were made under other ones are never compared.
	version uint32
	fields  *pointers
	params  map[string]bool
}

func newFingerprinter(exclude []string) (*fingerprinter, error) {
	f := &fingerprinter{}
	exclude = slices.Compact(slices.Sorted(slices.Values(exclude)))
	var config frames
	for _, e := range exclude {
		config = config.text(e)
		if name, ok := strings.CutPrefix(e, "?"); ok && name != "" {
			if f.params == nil {
				f.params = map[string]bool{}
			}
			f.params[name] = true
			continue
		}
		if f.fields == nil {
			f.fields = &pointers{}
		}
		if err := f.fields.add(e); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(config)
	f.version = fingerprintRules<<24 | binary.BigEndian.Uint32(sum[:4])>>8
	return f, nil
}

// How a body is compared.
const (
	asBytes     = "bytes"
	asJSON      = "json"
	asMultipart = "multipart"
)

// sum returns the fingerprint of a request.
func (f *fingerprinter) sum(r *http.Request, body []byte, w *workspace) machine.Fingerprint {
	content := contentOf(r.Header["Content-Type"])
	how, compared := asBytes, body
	switch content.kind {
	case asJSON:
		if canonical, ok := w.json.canonical(body, f.fields); ok {
			how, compared = asJSON, canonical
		}
	case asMultipart:
		if parts, ok := w.sumParts(body, content.boundary); ok {
			how, compared = asMultipart, parts
		}
	}
	w.frames = w.frames[:0].text(r.Method).text(escapedPath(r.URL)).text(f.query(r.URL.RawQuery)).
		text(content.name).text(how).number(len(compared))
	w.hash.Reset()
	w.hash.Write(w.frames)
	w.hash.Write(compared)
	sum := machine.Fingerprint{Version: f.version}
	w.hash.Sum(sum.Sum[:0])
	return sum
}

// escapedPath returns the path, or what stands in its place in a target that net/http takes and that has none, such as x:y. That
// never looks like a path.
func escapedPath(u *url.URL) string {
	if u.Opaque != "" {
		return url.PathEscape(u.Opaque)
	}
	return u.EscapedPath()
}

// query returns the query without the excluded parameters, otherwise as it was sent.
func (f *fingerprinter) query(raw string) string {
	if f.params == nil || raw == "" {
		return raw
	}
	var kept []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && f.params[plain] {
			continue
		}
		kept = append(kept, pair)
	}
	return strings.Join(kept, "&")
}

// content is a content type as it is compared.
type content struct {
	name     string // media type and parameters that say something about the content
	kind     string
	boundary string
}

func contentOf(lines []string) content {
	value := strings.Join(lines, ", ")
	switch value {
	case "":
		return content{kind: asBytes}
	case "application/json":
		return content{name: value, kind: asJSON}
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil {
		return content{name: value, kind: asBytes}
	}
	c := content{kind: asBytes}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		c.kind = asJSON
		if strings.EqualFold(params["charset"], "utf-8") {
			delete(params, "charset") // it has no other
		}
	case strings.HasPrefix(media, "multipart/") && params["boundary"] != "":
		c.kind, c.boundary = asMultipart, params["boundary"]
		delete(params, "boundary")
	}
	if c.name = mime.FormatMediaType(media, params); c.name == "" {
		c.name = value
	}
	return c
}

// frames are length-framed texts: two different lists of texts never give the same bytes.
type frames []byte

func (f frames) number(n int) frames  { return binary.AppendUvarint(f, uint64(n)) }
func (f frames) text(s string) frames { return append(f.number(len(s)), s...) }
