package proxy

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"net/http/httputil"

	"github.com/reprise-dev/reprise/httpguard"
)

// once returns the handler that a route's guard runs: it sends a request once and says what came of it.
// Requests that the guard lets pass unguarded go to plain.
func (u *upstream) once(route Route, maxKept int64, plain http.Handler) http.Handler {
	proxy := u.proxy(u.sender(route.UpstreamTimeout))
	proxy.Rewrite = func(p *httputil.ProxyRequest) {
		u.rewrite(p)
		// The body has been read, and the connection cannot become something else.
		for _, name := range []string{"Expect", "Upgrade", "Connection"} {
			p.Out.Header.Del(name)
		}
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		if err := usable(r); err != nil {
			return err
		}
		return collect(r, maxKept)
	}
	proxy.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		arrived := mayHaveArrived(err)
		verdict, why := httpguard.NoEffect, "the upstream was not reached: "
		if arrived {
			verdict, why = httpguard.Unknown, "no usable answer from the upstream: "
		}
		httpguard.Report(r.Context(), verdict, why+err.Error())
		u.log.Warn("no answer from the upstream to a guarded request", digest(r.Context()), "route", route.Path, "arrived", arrived, "error", err)
		problem := unanswered(r.Method, arrived)
		problem.Status = route.Options.Statuses[problem.Type]
		httpguard.WriteProblem(w, problem)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpguard.RunFrom(r.Context()) == nil {
			plain.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// collect reads an answer that can be kept to its end, so that one that breaks off is no answer. Larger
// ones and those that have no end in sight pass as they come.
func collect(r *http.Response, limit int64) error {
	endless := r.ContentLength < 0 && httpguard.Endless(r.Header.Get("Content-Type"))
	if r.Body == nil || r.ContentLength == 0 || r.ContentLength > limit || endless {
		return nil
	}
	var held bytes.Buffer
	if r.ContentLength > 0 {
		held.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := held.ReadFrom(io.LimitReader(r.Body, min(limit, math.MaxInt64-1)+1))
	if err != nil {
		return err
	}
	rest := io.Reader(&held)
	if n > limit {
		rest = io.MultiReader(&held, r.Body)
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{rest, r.Body}
	return nil
}
