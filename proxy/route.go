package proxy

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Route is a part of the upstream with a guard of its own.
type Route struct {
	// Path is a pattern of [http.ServeMux] without method. Of several that fit, the most specific counts.
	Path string
	// Operation names what the route does. Empty: method and path of each request, and the host if the path has one in front.
	Operation string
	// Unguarded passes everything through.
	Unguarded bool
	// PrincipalName says in words what Options.Principal is, such as "header:X-User". Two routes whose
	// principals have one name tell callers apart in the same way.
	PrincipalName string
	// Policy is that of the route's guard.
	Policy reprise.Policy
	// Options are those of its middleware. Operation, Upstream and Observe are set here.
	Options httpguard.Options
	// UpstreamTimeout bounds the wait for the answer to a guarded request to begin, and to go on. Zero: no bound.
	UpstreamTimeout time.Duration
}

// methods are those that the route guards.
func (r *Route) methods() []string {
	if len(r.Options.Methods) == 0 {
		return []string{http.MethodPost, http.MethodPatch}
	}
	return r.Options.Methods
}

// header is the name of the key's header.
func (r *Route) header() string {
	if r.Options.Header == "" {
		return httpguard.DefaultHeader
	}
	return http.CanonicalHeaderKey(r.Options.Header)
}

// host is the one that the route is for, or empty for all.
func (r *Route) host() string {
	host, _, _ := strings.Cut(r.Path, "/")
	return host
}

// pattern is the path as requests are compared with it, which have their host's name in front.
func (r *Route) pattern() (string, error) {
	host, path, ok := strings.Cut(r.Path, "/")
	if !ok {
		return "", fmt.Errorf("%q has no path: write %s/", r.Path, r.Path)
	}
	if _, port, err := net.SplitHostPort(host); err == nil {
		return "", fmt.Errorf("%s: hosts are told apart by their names, and no request would be of port %s: leave it out", r.Path, port)
	}
	return hostName(host) + "/" + path, nil
}

// hostName returns the name of a host as names are compared: without port, the brackets of an address and the dot at the end, in
// lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// table finds the route of a request.
type table struct {
	mux    *http.ServeMux
	routes map[string]int // by "METHOD pattern"
}

func newTable(routes []Route) (t table, err error) {
	t = table{mux: http.NewServeMux(), routes: map[string]int{}}
	defer func() {
		if refused := recover(); refused != nil { // a mux refuses patterns by panics
			err = fmt.Errorf("proxy: routes: %v", refused)
		}
	}()
	for i := range routes {
		path, err := routes[i].pattern()
		if err != nil {
			return t, fmt.Errorf("proxy: routes: %w", err)
		}
		for _, method := range routes[i].methods() {
			pattern := method + " " + path
			t.mux.Handle(pattern, http.NotFoundHandler())
			t.routes[pattern] = i
		}
	}
	return t, nil
}

// find returns the index of the request's route, or -1. The mux only finds: it would redirect paths that
// are not clean, and those go to the upstream as they are, under the route that the clean path has.
func (t table) find(r *http.Request) int {
	if name := hostName(r.Host); name != r.Host {
		named := *r
		named.Host = name
		r = &named
	}
	_, pattern := t.mux.Handler(r)
	if i, ok := t.routes[pattern]; ok {
		return i
	}
	return -1
}

// guarded is a route at work.
type guarded struct {
	guard   *reprise.Guard
	handler http.Handler
}

// newGuarded builds the guard of a route, and its handler in front of the upstream.
func newGuarded(s store.Store, route Route, u *upstream, plain http.Handler, observe func(httpguard.Event)) (*guarded, error) {
	if route.Operation != "" && !machine.ValidOperationName(route.Operation) {
		return nil, fmt.Errorf("route %s: the operation %.64q cannot be a name: it is longer than %d bytes, or not plain text without control characters", route.Path, route.Operation, machine.MaxOperationName)
	}
	guard, err := reprise.New(s, route.Policy)
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", route.Path, err)
	}
	options := route.Options
	options.Upstream, options.Observe, options.Operation = true, observe, nil
	if route.Operation != "" {
		options.Operation = func(*http.Request) string { return route.Operation }
	} else if host := route.host(); host != "" {
		options.Operation = httpguard.MethodHostAndPath(host)
	}
	middleware, err := httpguard.New(guard, options)
	if err != nil {
		return nil, fmt.Errorf("route %s: %w", route.Path, err)
	}
	maxKept := cmp.Or(options.MaxKept, guard.Policy().MaxKept)
	return &guarded{guard: guard, handler: patient(bodyPause, middleware.Wrap(u.once(route, int64(maxKept), plain)))}, nil
}

// safe reports whether a method has no effect, so that the transport may send it again by itself.
func safe(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}, method)
}

// checkUpstream reports what is wrong with the address of the upstream.
func checkUpstream(u *url.URL) error {
	if u == nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return fmt.Errorf("proxy: the upstream must be http://HOST or https://HOST, not %v", u)
	}
	return nil
}
