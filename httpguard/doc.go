// Package httpguard makes requests to a net/http server safe to send again: the same request with the
// same Idempotency-Key takes effect once, and every copy of it gets the same answer.
//
//	guarded, err := httpguard.New(guard, httpguard.Options{Principal: httpguard.Authorization()})
//	http.Handle("POST /orders", guarded.Wrap(orders))
//
// It wraps any [http.Handler], so it works with every router that is one. The contract with clients
// (headers, statuses, problem types) is docs/http.md.
//
// # What happens to a request
//
// A request whose method is not guarded, or that carries no key where keys are optional, goes to the
// handler as it came. Of any other, in this order: the key is read (key.go), the principal is asked who
// sends it (principal.go), the body is read to its end (body.go) and the request is fingerprinted
// (fingerprint.go). Up to here nothing is claimed, and every refusal leaves the key as it was.
//
// Then the guard decides. If the handler runs, it writes to a recorder (recorder.go). What it wrote is
// judged (verdict.go), recorded, and only then sent (answer.go). An answer that is too large to keep,
// is streamed, or takes the connection over is recorded as not kept at the moment its first byte is
// about to leave (stream.go).
//
// # What a handler can do
//
// [RunFrom] gives it the run, for keys of calls to other services. [Report] says what its answer means
// for the record where the status alone would say something else.
package httpguard
