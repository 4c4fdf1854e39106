package httpguard

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// Headers of this package.
const (
	// HeaderReplayed is "true" on an answer that was recorded by an earlier request. First answers do
	// not have it.
	HeaderReplayed = "Idempotency-Replayed"
	// HeaderStoredAt is when the replayed answer was recorded: RFC 3339, UTC, on the store's clock.
	HeaderStoredAt = "Idempotency-Stored-At"
	// HeaderRecorded is "false" on a first answer that the store has not confirmed to have recorded.
	HeaderRecorded = "Reprise-Recorded"
	// HeaderNoEffect is how an upstream says what its answer means for the key: "true" is [NoEffect], "false" is [Unknown]. A
	// guard says it of what it refuses and of what its handler has reported, to a guard in front of it; [WriteProblem] says it.
	HeaderNoEffect = "Reprise-No-Effect"
)

// effectSaid returns the verdict of an upstream's header, zero if there is none.
func effectSaid(header http.Header) Verdict {
	switch effect(header.Get(HeaderNoEffect)) {
	case undone:
		return NoEffect
	case unknown:
		return Unknown
	}
	return 0
}

// effect is what the header says of a verdict.
func (v Verdict) effect() effect {
	switch v {
	case NoEffect:
		return undone
	case Unknown:
		return unknown
	}
	return lastWord
}

// tell says to a guard in front what the handler has reported: it goes by the status otherwise.
func (c *recorder) tell() {
	if said := c.reported.effect(); said != lastWord {
		c.out.Header().Set(HeaderNoEffect, string(said))
	}
}

// NeverReplayed reports whether a header, by its canonical name, is never recorded: it is for the first caller's eyes, about one
// connection, or about how the bytes of one message are framed.
func NeverReplayed(name string) bool {
	switch name {
	case "Set-Cookie", "Set-Cookie2", "Www-Authenticate", "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info",
		"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Upgrade",
		"Content-Length", "Transfer-Encoding", "Trailer",
		HeaderReplayed, HeaderStoredAt, HeaderRecorded:
		return true
	}
	return strings.HasPrefix(name, http.TrailerPrefix)
}

// keptHeader returns the headers that are recorded: those that the handler set (not those of outer, as
// they were before it), without what must not be replayed. What repeats the request is there without values.
func (c *recorder) keptHeader(header http.Header, contentLength bool) http.Header {
	kept, trailers := make(http.Header, len(header)), announced(header)
	for name, values := range header {
		canonical := http.CanonicalHeaderKey(name) // a handler may have spelt it otherwise
		switch {
		case canonical == "Content-Length" && contentLength:
		case NeverReplayed(canonical), inConnection(header, canonical), slices.Contains(trailers, canonical):
			continue
		}
		if before, ok := c.outer[name]; ok && slices.Equal(before, values) {
			continue
		}
		switch c.private.compare(canonical, values) {
		case unlike:
			kept[name] = values
		case echoes:
			kept[name] = nil
		}
	}
	return kept
}

// announced returns the names of the trailers that an answer's headers announce. Some handlers set one before the first byte
// already; it is a trailer all the same.
func announced(header http.Header) (names []string) {
	for _, line := range header["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	return names
}

// inConnection reports whether the Connection header names a header as meant for the next hop only.
func inConnection(header http.Header, name string) bool {
	for _, line := range header["Connection"] {
		for token := range strings.SplitSeq(line, ",") {
			if textproto.CanonicalMIMEHeaderKey(textproto.TrimString(token)) == name {
				return true
			}
		}
	}
	return false
}

// isToken reports whether a text can be the name of a header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	for _, r := range name {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if !letter && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return name != ""
}

// TakenOut reports whether net/http takes a header out of requests before handlers see them, so that
// neither a key nor a principal can be in it.
func TakenOut(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Transfer-Encoding", "Trailer":
		return true
	}
	return false
}

// replaceHeader makes to equal to from. The lists of values are shared.
func replaceHeader(to, from http.Header) {
	clear(to)
	for name, values := range from {
		to[name] = values
	}
}
