package archtest

import "strings"

// exception excuses one file or package from one rule.
type exception struct {
	rule, path, because string
}

var exceptions = []exception{
	{"no panic", "httpguard/exchange.go", "a handler's own panic, looked at on its way, goes on"},
	{"no panic", "httpguard/recorder.go", "net/http promises its handlers this panic for a status that does not exist"},
}

// covers reports whether a finding is in the exception's file or package.
func (e exception) covers(where string) bool {
	rest, ok := strings.CutPrefix(where, e.path)
	return ok && (rest == "" || rest[0] == ':')
}
