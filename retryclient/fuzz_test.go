package retryclient

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whatever a server says about when to come back, the pause is neither negative nor longer than the
// options allow.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range [][2]string{
		{"7", ""}, {"86400", ""}, {"-4", ""}, {"99999999999999999999", ""}, {"soon", ""}, {"2147483648", ""},
		{"Sat, 01 Jan 2000 10:00:09 GMT", "Sat, 01 Jan 2000 10:00:00 GMT"},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"},
		{"Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"},
		{"Saturday, 01-Jan-00 10:00:09 GMT", "Sat Jan  1 10:00:00 2000"},
	} {
		f.Add(s[0], s[1])
	}
	options := Options{FirstBackoff: time.Millisecond, MaxBackoff: time.Second, MaxRetryAfter: 15 * time.Second, MaxTries: 2, MaxElapsed: time.Hour}
	f.Fuzz(func(t *testing.T, after, date string) {
		response := &http.Response{Header: http.Header{"Retry-After": {after}, "Date": {date}}}
		pause, again := newPace(&options).next(1, response)
		if pause < 0 || pause > options.MaxRetryAfter || !again {
			t.Errorf("pause %v, again %v", pause, again)
		}
		if seconds, err := strconv.ParseUint(after, 10, 16); err == nil && pause < min(time.Duration(seconds)*time.Second, options.MaxRetryAfter) {
			t.Errorf("pause %v is shorter than the %d s that the server asked for", pause, seconds)
		}
	})
}

// A document that a server sends is read for its type, stays readable for the caller as it was, and
// cannot end a call as refused unless it is one of ours.
func FuzzProblem(f *testing.F) {
	const media = "application/problem+json"
	for _, kind := range []string{problemInProgress, problemKeyReused, problemExpired, problemUnreachable, "about:blank", problemPrefix} {
		f.Add(409, media, []byte(`{"type":"`+kind+`","title":"Title","detail":"detail","status":409}`))
	}
	f.Add(200, media, []byte(`{"type":"`+problemUnknown+`"}`))
	f.Add(410, "text/html", []byte(`{"type":"`+problemExpired+`"}`))
	f.Add(410, media+"; charset=utf-8", []byte(`{"type":["`+problemExpired+`"]}`))
	f.Add(422, media+";", []byte(`{"type":"`+problemKeyReused+`"} and more`))
	f.Add(500, media, bytes.Repeat([]byte("x"), maxProblem+1))
	f.Fuzz(func(t *testing.T, code int, media string, body []byte) {
		sent := &watchedBody{Reader: bytes.NewReader(body)}
		response := &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {media}}, Body: sent}
		p, err := problemOf(response)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(response, p, nil, false)
		ours := code >= 400 && strings.HasPrefix(p.Type, problemPrefix) && len(p.document) > 0
		if !ours && (p.Type != "" || p.document != nil || p.said() != "" || v.refused != nil) {
			t.Errorf("%d %q is taken for the problem %+v, verdict %+v", code, media, p, v)
		}
		if left, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(left, body) {
			t.Errorf("%d of %d bytes are left, %v", len(left), len(body), err)
		}
		if discard(response); !sent.closed {
			t.Error("the body was left open")
		}
	})
}

type watchedBody struct {
	io.Reader
	closed bool
}

func (b *watchedBody) Close() error {
	b.closed = true
	return nil
}
