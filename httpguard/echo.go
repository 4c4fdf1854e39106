package httpguard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/internal/redact"
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
			case redact.Index(value, sent) >= 0, redact.Index(value, credentials) >= 0, redact.Index(value, p.key) >= 0:
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
			text = redact.Replace(text, sent, "["+name+"]")
		}
	}
	return text
}
