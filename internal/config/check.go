package config

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
)

// checkConfig finds what is wrong between keys of the whole program.
func checkConfig(l *loader, c *Config, places map[string]Place) {
	at := func(key string) Place {
		if p := places[key]; p.Source != "" {
			return p
		}
		return Place{Source: l.file}
	}
	if _, given := l.values["upstream"]; !given && !l.beside {
		l.refuse(at(""), "", "no upstream; say where the service is: --upstream http://127.0.0.1:9000, or `upstream:` in the file")
	}
	together := func(a, b, have, need string) {
		if have != "" && need == "" {
			l.refuse(at(a), a, "needs %s beside it", b)
		}
	}
	together("tls.cert", "tls.key", c.TLS.Cert, c.TLS.Key)
	together("tls.key", "tls.cert", c.TLS.Key, c.TLS.Cert)
	together("tls.client-ca", "tls.cert", c.TLS.ClientCA, c.TLS.Cert)
	together("upstream-tls.cert", "upstream-tls.key", c.UpstreamTLS.Cert, c.UpstreamTLS.Key)
	together("upstream-tls.key", "upstream-tls.cert", c.UpstreamTLS.Key, c.UpstreamTLS.Cert)
	if c.UpstreamTLS != (ClientTLS{}) && c.Upstream != nil && c.Upstream.Scheme == "http" {
		l.refuse(at("upstream"), "upstream", "is http, and upstream-tls is set; write https, or leave upstream-tls out")
	}
	if c.JWT.JWKS != "" {
		if u, err := url.Parse(c.JWT.JWKS); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			l.refuse(at("jwt.jwks"), "jwt.jwks", "%q is not a URL; write https://issuer.example/.well-known/jwks.json", c.JWT.JWKS)
		}
	}
}

// checkRoutes finds what is wrong in a route, and between routes.
func checkRoutes(l *loader, c *Config, routes []placedRoute) {
	if _, given := l.values["principal"]; !given && !l.beside {
		without := func(r placedRoute) bool { return r.Key != Ignored && r.places["principal"].Source == "" }
		if i := slices.IndexFunc(routes, without); i >= 0 {
			l.refuse(routes[i].at, "", "no principal: %s", choosePrincipal)
		}
	}
	for _, r := range routes {
		if r.Key == Ignored {
			continue
		}
		checkTimes(l, r)
		checkSizes(l, r)
		checkIdentity(l, c, r)
		checkStatuses(l, r)
	}
	checkPatterns(l, routes)
}

// checkTimes compares durations. One that could not be read is zero and compared with nothing.
func checkTimes(l *loader, r placedRoute) {
	longest := func(key string, d, most time.Duration) {
		if d > most {
			l.refuse(r.place(key), key, "%s is above the most, %s", Spell(d), Spell(most))
		}
	}
	longest("lease", r.Lease, machine.MaxLease)
	longest("command-timeout", r.CommandTimeout, machine.MaxLease/3)
	longest("remember-until", r.Remember, machine.MaxRemember)
	longest("retryable-for", r.RetryableFor, machine.MaxRemember)
	if r.Lease > 0 && r.Lease/3 < r.CommandTimeout && r.CommandTimeout <= machine.MaxLease/3 {
		l.refuse(r.place("lease"), "lease", "%s is below three times command-timeout (%s): one slow renewal would lose it; write %s or more", Spell(r.Lease), Spell(r.CommandTimeout), Spell(3*r.CommandTimeout))
	}
	if r.ReplayWindow > 0 && r.ReplayWindow < r.Horizon {
		l.refuse(r.place("replay-window"), "replay-window", "%s is shorter than clients go on retrying (retry-horizon %s)", Spell(r.ReplayWindow), Spell(r.Horizon))
	}
	if r.Remember > 0 && r.Remember < r.ReplayWindow {
		l.refuse(r.place("remember-until"), "remember-until", "%s is shorter than replay-window (%s): a key would be new again while its answer still replays; write %s or more", Spell(r.Remember), Spell(r.ReplayWindow), Spell(r.ReplayWindow))
	}
}

// mostKept is what every store can take in one record, with room for the rest of it.
const mostKept = 256 << 20

func checkSizes(l *loader, r placedRoute) {
	if r.MaxKept > mostKept {
		l.refuse(r.place("max-kept-answer"), "max-kept-answer", "%d bytes are more than every store takes in one record; write 256MiB or less", r.MaxKept)
	}
}

func checkIdentity(l *loader, c *Config, r placedRoute) {
	mode, name, _ := strings.Cut(r.Principal, ":")
	switch {
	case mode == "jwt" && c.JWT.JWKS == "":
		l.refuse(r.place("principal"), "principal", "%s needs jwt.jwks, the key set that verifies tokens", r.Principal)
	case mode == "certificate" && c.TLS.ClientCA == "":
		l.refuse(r.place("principal"), "principal", "certificate needs tls.client-ca, or no client has one")
	case mode == "header":
		checkHeaderName(l, r, "principal", name)
		if http.CanonicalHeaderKey(name) == http.CanonicalHeaderKey(r.Header) {
			l.refuse(r.place("principal"), "principal", "%s is the header of the key: whoever sends one chooses both, and callers share keys; name the header that says who asks, or write none", name)
		}
	}
	checkHeaderName(l, r, "header", r.Header)
	if httpguard.OwnHeader(r.Header) {
		l.refuse(r.place("header"), "header", "%q has a meaning of its own; choose another", r.Header)
	}
	if r.Operation != "" && !machine.ValidOperationName(r.Operation) {
		l.refuse(r.place("operation"), "operation", "%.64q cannot be a name: it is longer than %d bytes, or not plain text without control characters", r.Operation, machine.MaxOperationName)
	}
}

// checkHeaderName refuses a header that no request can have when it is looked at.
func checkHeaderName(l *loader, r placedRoute, key, name string) {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		l.refuse(r.place(key), key, "%q is not the name of a header", name)
	case httpguard.TakenOut(name):
		l.refuse(r.place(key), key, "%q is taken out of requests before they are looked at; choose another", name)
	}
}

// choosePrincipal says in two lines how to choose.
const choosePrincipal = `choose what tells callers apart, so that none gets another's answer.
  --principal authorization (fixed tokens) | header:X-User (set by a gateway) | jwt:sub | certificate | none (all callers share keys)`

func checkStatuses(l *loader, r placedRoute) {
	lists := []struct {
		key      string
		statuses []int
	}{{"final", r.Final}, {"no-effect", r.NoEffect}, {"unknown", r.Unknown}}
	for i, list := range lists {
		for _, before := range lists[:i] {
			for _, s := range list.statuses {
				if slices.Contains(before.statuses, s) {
					l.refuse(r.place(list.key), list.key, "%d is in %s too; a status means one thing", s, before.key)
				}
			}
		}
	}
}

// checkPatterns registers the routes as they will be, and reports those that cannot be.
func checkPatterns(l *loader, routes []placedRoute) {
	mux := http.NewServeMux()
	for i, r := range routes {
		for _, method := range r.Methods {
			if r.Path == "" {
				break
			}
			refused := register(mux, method, r.Path)
			if refused == "" {
				continue
			}
			at := slices.IndexFunc(routes[:i], func(other placedRoute) bool { return conflict(method, r, other) })
			if at < 0 {
				l.refuse(r.place("path"), "path", "%q is not a pattern: %s", r.Path, refused)
			} else {
				l.refuse(r.place("path"), "path", "%s %s conflicts with %s in line %d: some requests fit both, and neither is more specific", method, r.Path, routes[at].Path, routes[at].at.Line)
			}
			break
		}
	}
}

func conflict(method string, r, other placedRoute) bool {
	mux := http.NewServeMux()
	return slices.Contains(other.Methods, method) && register(mux, method, other.Path) == "" && register(mux, method, r.Path) != ""
}

// register turns the panic with which a mux refuses a pattern into a reason, or "". The host is spelt as the proxy compares it.
func register(mux *http.ServeMux, method, path string) (refused string) {
	defer func() {
		if reason := recover(); reason != nil {
			text := fmt.Sprint(reason)
			refused = strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
		}
	}()
	host, rest, _ := strings.Cut(path, "/")
	mux.Handle(method+" "+strings.ToLower(strings.TrimSuffix(host, "."))+"/"+rest, http.NotFoundHandler())
	return ""
}
