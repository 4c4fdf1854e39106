package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// RoutesOf returns which of some routes make records of an operation of that name: those that are called so, and the one that names
// its operations after method and path and has the requests of these. None: the routes have no such operation.
func RoutesOf(routes []Route, operation string) ([]int, error) {
	table, err := newTable(routes)
	if err != nil {
		return nil, err
	}
	var found []int
	for i, route := range routes {
		if !route.Unguarded && route.Operation != "" && route.Operation == operation {
			found = append(found, i)
		}
	}
	request := requestOf(operation)
	if request == nil {
		return found, nil
	}
	// A route for one host names it in front of the path, and one for all hosts names none.
	if i := table.find(request); i >= 0 && !routes[i].Unguarded && routes[i].Operation == "" && routes[i].host() == request.Host {
		found = append(found, i)
	}
	return found, nil
}

// requestOf returns a request whose operation has a name that was made of method, host and path, or nil for another name.
func requestOf(operation string) *http.Request {
	method, where, ok := strings.Cut(operation, " ")
	slash := strings.IndexByte(where, '/')
	if !ok || slash < 0 {
		return nil
	}
	path, err := url.PathUnescape(where[slash:])
	if err != nil {
		return nil
	}
	return &http.Request{Method: method, Host: where[:slash], URL: &url.URL{Path: path, RawPath: where[slash:]}}
}
