package retryclient

import (
	"net/http"
	"slices"
	"time"
)

// Options say how calls are repeated. Zero and negative values mean the default named at the field.
type Options struct {
	// Methods are those whose requests get a key and are repeated. Others pass through untouched.
	// Default POST and PATCH.
	Methods []string
	// Header is the name of the header that carries the key. Default Idempotency-Key.
	Header string
	// RawKeys sends keys as they are. By default they are sent as the quoted string of
	// draft-ietf-httpapi-idempotency-key-header, which servers that take keys literally accept too.
	RawKeys bool

	// RetryStatuses are answers after which the call is tried again.
	//
	// Default 425 and 429 (not done), and 408, 502, 503 and 504 (somebody gave up on the way: it may
	// have been done). 500 is not among them: it is the service's own answer, a server that honours keys
	// records it, and a retry would get it again. Add it for servers that forget a key after a 500.
	RetryStatuses []int
	// MaxTries is how often a request is sent at most. Default 8.
	MaxTries int
	// MaxElapsed is how long after its start a call is still repeated. A try under way is not cut
	// short: that is for the context, or for [http.Transport.ResponseHeaderTimeout]. Default 2 minutes.
	MaxElapsed time.Duration
	// FirstBackoff bounds the pause after the first try; it doubles with each try up to MaxBackoff. The
	// pause is random between 0 and the bound. Defaults 200 ms and 10 s.
	FirstBackoff, MaxBackoff time.Duration
	// MaxRetryAfter is how much of a Retry-After is honoured. A pause is never shorter than what the
	// server asked for, up to this. Default 15 s.
	MaxRetryAfter time.Duration
	// MaxBody is how many bytes are held in memory of a body that has no [http.Request.GetBody]. A
	// longer one is refused with [ErrInvalid] before anything is sent. Default 10 MiB.
	MaxBody int64
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if len(o.Methods) == 0 {
		o.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if o.Header == "" {
		o.Header = "Idempotency-Key"
	}
	if len(o.RetryStatuses) == 0 {
		o.RetryStatuses = []int{
			http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}
	}
	o.Methods, o.RetryStatuses = slices.Clone(o.Methods), slices.Clone(o.RetryStatuses)
	o.MaxTries = positive(o.MaxTries, 8)
	o.MaxElapsed = positive(o.MaxElapsed, 2*time.Minute)
	o.FirstBackoff = positive(o.FirstBackoff, 200*time.Millisecond)
	o.MaxBackoff = max(positive(o.MaxBackoff, 10*time.Second), o.FirstBackoff)
	o.MaxRetryAfter = positive(o.MaxRetryAfter, 15*time.Second)
	o.MaxBody = positive(o.MaxBody, 10<<20)
	return o
}

func positive[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
