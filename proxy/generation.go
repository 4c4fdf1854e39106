package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// generation is a set of routes with their guards, and the upstream. Requests use the one that was current
// when they came, to their end.
type generation struct {
	settings Settings
	table    table
	routes   []*guarded // by index in settings.Routes; nil where unguarded
	upstream *upstream
	plain    http.Handler
	crowd    *crowd
}

// newGeneration builds one. The store is not asked.
func newGeneration(s store.Store, settings Settings, m *metrics) (*generation, error) {
	if err := checkUpstream(settings.Upstream); err != nil {
		return nil, err
	}
	g := &generation{settings: settings, upstream: newUpstream(settings, m.sent), crowd: newCrowd()}
	g.plain = g.upstream.plain()
	var err error
	if g.table, err = newTable(settings.Routes); err != nil {
		g.discard()
		return nil, err
	}
	for _, route := range settings.Routes {
		var at *guarded
		if !route.Unguarded {
			if at, err = newGuarded(s, route, g.upstream, g.plain, m.observer(route.Path, settings.Log)); err != nil {
				g.discard()
				return nil, err
			}
		}
		g.routes = append(g.routes, at)
	}
	return g, nil
}

// discard ends a generation that never became current: what its guards have begun to ask the store, too.
func (g *generation) discard() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, r := range g.routes {
		if r != nil {
			_ = r.guard.Close(ended) // no call is under way, and nothing is to be recorded
		}
	}
	g.upstream.close()
}

// check asks the store whether the secrets fit.
func (g *generation) check(ctx context.Context) error {
	for _, r := range g.routes {
		if r == nil {
			continue
		}
		if err := r.guard.Check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serve answers a request, or returns false when this generation takes no more.
func (g *generation) serve(w http.ResponseWriter, r *http.Request) bool {
	if safe(r.Method) {
		// These have no record and no part in what must be waited for; an upgraded connection lasts for ever.
		g.plain.ServeHTTP(w, r)
		return true
	}
	if !g.crowd.enter() {
		return false
	}
	defer g.crowd.leave()
	if i := g.table.find(r); i >= 0 && g.routes[i] != nil {
		g.routes[i].handler.ServeHTTP(w, r)
	} else {
		g.plain.ServeHTTP(w, r)
	}
	return true
}

// lastWords is how long requests that were cut off have to be recorded.
const lastWords = 5 * time.Second

var errStopping = errors.New("the proxy stopped before the upstream had answered")

// retire waits until the last request has left and is recorded. When ctx ends before that, what is still
// being sent is cut off, so that it is recorded as unknown now and not when its lease ends.
func (g *generation) retire(ctx context.Context) error {
	defer g.upstream.close()
	var errs []error
	empty := g.crowd.close()
	select {
	case <-empty:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // what is over now is recorded all the same
		cause := context.Cause(ctx)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		select {
		case <-empty:
		default:
			errs = append(errs, fmt.Errorf("requests were cut off: %w", cause))
			g.upstream.cut(errStopping)
			select {
			case <-empty:
			case <-ctx.Done():
			}
		}
	}
	for _, r := range g.routes {
		if r != nil {
			errs = append(errs, r.guard.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
