package httpguard

import (
	"context"
	"net/http"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/patience"
)

// exchange is one guarded request and its answer. It is also the context in which the guard works: the
// request's, but not ended when the client hangs up, because the action goes on and is recorded then.
type exchange struct {
	context.Context
	middleware *Middleware
	request    *http.Request
	next       http.Handler
	body       heldBody
	length     int
	recorder   recorder
	acting     bool // the handler runs, and goes on without the client
}

type exchangeKey struct{}

func newExchange(m *Middleware, w http.ResponseWriter, r *http.Request, next http.Handler, key string, space *workspace) *exchange {
	x := &exchange{Context: context.WithoutCancel(r.Context()), middleware: m, request: r, next: next}
	x.body.rest, x.length = space.request.Bytes(), space.request.Len()
	x.recorder = recorder{ctx: x, out: w, rules: m.rules, options: &m.options, body: &space.response, bodyless: r.Method == http.MethodHead}
	x.recorder.private = newPrivate(r, m.private, key)
	return x
}

// Value implements [context.Context]; it also finds the exchange itself, and the client for whom a duplicate waits.
func (x *exchange) Value(key any) any {
	switch key {
	case exchangeKey{}:
		return x
	case patience.Key{}:
		if !x.acting {
			return x.request.Context()
		}
	}
	return x.Context.Value(key)
}

// act is the action: it runs the handler.
func (x *exchange) act(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
	x.acting = true
	x.recorder.begin(run)
	aborted := x.handle(ctx)
	return x.recorder.settle(aborted)
}

// handle runs the handler. When its answer is refused, or the key is lost, its context ends; a client that
// hangs up does not end it. A handler that aborts then, as reverse proxies do, has done what it should: the
// client is still told what the record says. The error is why its context ended.
func (x *exchange) handle(ctx context.Context) (aborted error) {
	ctx, x.recorder.abort = context.WithCancelCause(ctx)
	defer x.recorder.abort(nil)
	defer func() {
		if ctx.Err() == nil || x.recorder.hasLeft() {
			return // and a panic goes on
		}
		switch reason := recover(); reason {
		case nil:
		case http.ErrAbortHandler:
			aborted = context.Cause(ctx)
		default:
			panic(reason)
		}
	}()
	x.next.ServeHTTP(&x.recorder, x.replayable(ctx))
	return nil
}

// replayable returns the request with its body as if it had not been read.
func (x *exchange) replayable(ctx context.Context) *http.Request {
	r := x.request.WithContext(ctx)
	r.ContentLength, r.TransferEncoding = int64(x.length), nil
	if r.Body = http.NoBody; x.length > 0 {
		r.Body = &x.body
	}
	return r
}
