// Package proxy puts the guard in front of an HTTP service that knows nothing of it.
//
// A request comes in, finds its [Route], passes that route's guard and is sent to the upstream. What
// this package adds to [net/http/httputil.ReverseProxy] is one rule: one request, one send.
//
// Go's HTTP transport sends a request again by itself when a reused connection breaks and it thinks
// that the request may be repeated: because the method is safe, or because there is an Idempotency-Key
// header. Behind a guard that would be the second effect that the guard exists to prevent. So a request
// whose method is not safe never passes through the transport's own pool. It is sent with
// [net/http.ClientConn], which is one connection and cannot send twice (pool.go, send.go), and each
// connection knows whether a byte of the request was handed to the network (wire.go):
//
//	nothing written, on a connection that had been idle   one more try, on a fresh connection
//	nothing written otherwise                             502 upstream-unreachable; the key can be tried again
//	anything written, and no whole answer                 504 upstream-no-answer; the outcome is unknown
//
// Routes can be replaced while requests run (generation.go). A replacement that would lead the keys of
// live records to other records is refused unless it is accepted by name (scope.go).
package proxy
