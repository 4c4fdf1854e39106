package httpguard

import (
	"net/http"
	"slices"
	"strings"
)

// Servers echo keys in their answers, and some who sent them. What is recorded must not hold that, so such
// a header is recorded without a value. A replay has it from the request that it answers.

// callerHeaders say who sends a request, whatever the principal is.
var callerHeaders = [...]string{"Authorization", "Proxy-Authorization", "Cookie"}

// privateHeaders returns the names of the request headers whose values are not recorded.
func privateHeaders(o Options) []string {
	names := append(callerHeaders[:], o.Header)
	if p, ok := o.Principal.(interface{ Header() string }); ok {
		names = append(names, http.CanonicalHeaderKey(p.Header()))
	}
	return names
}

// private is what a request says of itself and must not be recorded, as it came: handlers may change the
// headers of their request.
type private struct {
	names []string
	lines [][]string // of each name
	key   string
}

func newPrivate(r *http.Request, names []string, key string) private {
	p := private{names: names, lines: make([][]string, len(names)), key: key}
	for i, name := range names {
		p.lines[i] = r.Header[name]
	}
	return p
}

// resemblance is how much of what is private stands in a header of an answer.
type resemblance uint8

const (
	unlike resemblance = iota
	holds              // it stands among other words
	echoes             // it is all there is in a line
)

// compare says whether a header of the answer repeats the request's header of the same name.
func (p *private) compare(name string, values []string) (found resemblance) {
	i := slices.Index(p.names, name)
	if i < 0 {
		return unlike
	}
	for _, sent := range p.lines[i] {
		sent = strings.Trim(sent, " \t")
		_, credentials, _ := strings.Cut(sent, " ") // after the scheme
		for _, value := range values {
			key, _ := parseKey([]string{value}, false)
			switch {
			case value == sent, value == credentials, key == p.key:
				return echoes
			case indexWord(value, sent) >= 0, indexWord(value, credentials) >= 0, indexWord(value, p.key) >= 0:
				found = holds
			}
		}
	}
	return found
}

// scrub takes what is private out of a text that is recorded.
func (p *private) scrub(text string) string {
	for i, name := range p.names {
		for _, sent := range p.lines[i] {
			label := "[" + name + "]"
			for from := 0; ; {
				at := indexWord(text[from:], sent)
				if at < 0 {
					break
				}
				text = text[:from+at] + label + text[from+at+len(sent):]
				from += at + len(label)
			}
		}
	}
	return text
}

// indexWord returns where a word stands in a text by itself, or -1. The name 7 does not stand in 17.
func indexWord(text, word string) int {
	for from := 0; word != ""; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			break
		}
		start, end := from+at, from+at+len(word)
		if (start == 0 || !alphanumeric(text[start-1])) && (end == len(text) || !alphanumeric(text[end])) {
			return start
		}
		from = start + 1
	}
	return -1
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
