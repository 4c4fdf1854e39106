package config

import "fmt"

// placedRoute is a route with the places of its values.
type placedRoute struct {
	Route
	at     Place
	places map[string]Place
}

// place is where a key's value is from, or the route where the value is a default.
func (r placedRoute) place(key string) Place {
	if p := r.places[key]; p.Source != "" {
		return p
	}
	return r.at
}

// everything is the pattern of the route for paths of no other route.
const everything = "/"

// routes reads the routes, each a copy of the defaults with its own values, and adds the one for
// everything else.
func (l *loader) routes() []placedRoute {
	base := placedRoute{at: Place{Source: l.file}}
	base.places = assign(l, &base.Route, routeKeys(), l.values, nil)
	var routes []placedRoute
	rest := true
	for i, item := range l.inRoutes {
		if item.form != formPairs {
			l.refuse(item.at, fmt.Sprintf("%s[%d]", routesKey, i), "is not a route; write `- path: /orders`")
			continue
		}
		r := l.route(item, base)
		rest = rest && r.Path != everything
		routes = append(routes, r)
	}
	if rest {
		base.Path = everything
		routes = append(routes, base)
	}
	return routes
}

func (l *loader) route(item value, base placedRoute) placedRoute {
	r := placedRoute{Route: base.Route, at: item.at}
	inner := &loader{keys: l.keys, file: l.file}
	for _, p := range item.pairs {
		inner.take(p, "", func(k Key) bool { return k.Route }, routesKey)
	}
	r.places = assign(inner, &r.Route, routeKeys(), inner.values, base.places)
	if _, given := inner.values["path"]; !given {
		inner.refuse(item.at, "path", "is missing; write which requests the route is for, such as `path: /orders`")
	}
	l.mistakes = append(l.mistakes, inner.mistakes...)
	return r
}
