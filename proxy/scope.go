package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A key belongs to an operation and a principal, and is found in a header. Where a new configuration
// changes one of these for requests that were guarded before, their retries would find no record and run
// again. So such a change is refused until it is accepted by its mark, which names exactly that change.

// ScopeChange is the error of [Proxy.Replace] for a change that was not accepted.
type ScopeChange struct {
	// Changes say what changes, one for each method and path.
	Changes []string
	// Mark is what accepts them.
	Mark string
}

// Error implements error.
func (e *ScopeChange) Error() string {
	return fmt.Sprintf("live keys would not be found any more, and their retries would run again: %s; to accept that, write accept-scope-change: %s",
		strings.Join(e.Changes, "; "), e.Mark)
}

// scope says to which records keys lead. Empty: to none.
func (r *Route) scope() string {
	if r.Unguarded {
		return ""
	}
	operation := r.Operation
	if operation == "" {
		operation = "(method and path)"
		if host := r.host(); host != "" {
			operation = "(method, " + host + " and path)"
		}
	}
	return fmt.Sprintf("operation %s, principal %s, header %s", operation, canonicalPrincipal(r.PrincipalName), r.header())
}

func canonicalPrincipal(name string) string {
	if header, ok := strings.CutPrefix(name, "header:"); ok {
		return "header:" + http.CanonicalHeaderKey(header)
	}
	return name
}

// compareScopes returns what changes for requests that before guards, or nil. It looks at one request for
// each method and pattern of either side.
func compareScopes(before, after *generation) *ScopeChange {
	seen := map[string]bool{}
	var changes []string
	for _, route := range slices.Concat(before.settings.Routes, after.settings.Routes) {
		for _, method := range route.methods() {
			sample := sampleRequest(method, route.Path)
			old, next := before.scope(sample), after.scope(sample)
			name := method + " " + route.Path
			if old == "" || old == next || seen[name] {
				continue
			}
			seen[name] = true
			if next == "" {
				next = "not guarded"
			}
			changes = append(changes, fmt.Sprintf("%s: %s → %s", name, old, next))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.Sort(changes)
	sum := sha256.Sum256([]byte(strings.Join(changes, "\n")))
	return &ScopeChange{Changes: changes, Mark: hex.EncodeToString(sum[:6])}
}

func (g *generation) scope(r *http.Request) string {
	if i := g.table.find(r); i >= 0 {
		return g.settings.Routes[i].scope()
	}
	return ""
}

// sampleRequest returns a request that fits a pattern.
func sampleRequest(method, pattern string) *http.Request {
	host, path, _ := strings.Cut(pattern, "/")
	parts := strings.Split("/"+path, "/")
	for i, part := range parts {
		switch {
		case part == "{$}":
			parts[i] = ""
		case strings.HasPrefix(part, "{"):
			parts[i] = "sample-of-reprise"
		}
	}
	return &http.Request{Method: method, Host: host, URL: &url.URL{Path: strings.Join(parts, "/")}}
}
