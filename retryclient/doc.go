// Package retryclient makes HTTP calls that are safe to send again, and sends them again.
//
// [New] wraps an [http.RoundTripper]. Each logical call, that is each request given to it, gets one
// Idempotency-Key, and every try of the call carries that key and the same bytes. A server that honours
// keys (httpguard, `reprise proxy`, and many payment services) lets the call take effect once, so a try
// whose answer was lost may be repeated. A server that ignores keys must not be called through this
// package: to it, every try is a new request.
//
// # What comes back
//
// A response is the answer of the call. An error says what is known about it:
//
//	errors.Is(err, …)   what it means                                          what to do
//	ErrUnknown          it may have happened; *UnknownError has the key        ask again later with the same key
//	ErrKeyReused        the key was used for another request                   a mistake of the caller: one key a call
//	ErrExpired          it happened; the answer is no longer replayed          look at the result another way
//	ErrNotKept          it happened; the answer was too large to be kept       look at the result another way
//	ErrIncompatible     it happened; this server cannot read the answer        ask another version of the server
//	ErrInvalid          nothing was sent: malformed key, body cannot be resent correct the request
//	anything else       nothing was sent that could have had an effect         call again as you like
//
// Errors of [http.Client] wrap these. Bound a call with its context, not with [http.Client.Timeout]: the
// client replaces the error of a call that ran into its own time-out, and the key is lost with it.
//
// # Which tries are followed by another
//
// Transport errors, the statuses in [Options.RetryStatuses], and the problem types of Reprise that ask
// for it (in progress, store unavailable, outcome unknown with Retry-After). A type that no guard has, such as one
// of the service behind it, means what its status means. An answer marked Idempotency-Replayed is final, whatever its
// status: the server will not say anything else.
//
// A 409 that no problem type explains is the answer of a first try. After a try that may have taken
// effect it may as well say that this one still runs: it is asked again, and then the outcome is unknown.
package retryclient
