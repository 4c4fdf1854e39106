package httpguard

import (
	"context"
	"fmt"
	"net/http"

	"github.com/reprise-dev/reprise"
)

// Verdict says what an answer means for its key.
type Verdict uint8

// The verdicts.
const (
	// Final: this is the answer. It is recorded and replays.
	Final Verdict = iota + 1
	// NoEffect: nothing happened, and nothing can happen any more because of this request. The answer
	// is passed on and the key may be tried again.
	NoEffect
	// Unknown: nobody knows whether something happened. The answer is passed on and kept as evidence;
	// the key is refused until it is settled.
	Unknown
)

// Report says what the answer of the handler that runs in ctx (the request's context, or one made from
// it) means, whatever its status. why is kept with the record, for who looks at it; no secrets in it.
// The last report counts. A report after the first byte of a streamed answer has left, or outside of a
// guarded request, does nothing.
func Report(ctx context.Context, verdict Verdict, why string) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		x.recorder.report(verdict, why)
	}
}

// RunFrom returns the run of the guarded request in whose context the caller is, or nil.
func RunFrom(ctx context.Context) *reprise.Run {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x.recorder.run
	}
	return nil
}

// judgement is what statuses mean.
type judgement map[int]Verdict

// newJudgement merges the defaults with what the options say.
func newJudgement(o Options) (judgement, error) {
	j := judgement{http.StatusTooManyRequests: NoEffect}
	if o.Upstream {
		// A load balancer's 503 does not mean that the service behind it did nothing.
		for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
			j[status] = Unknown
		}
	}
	said := map[int]bool{}
	for verdict, statuses := range map[Verdict][]int{Final: o.Final, NoEffect: o.NoEffect, Unknown: o.Unknown} {
		for _, status := range statuses {
			if status < 200 || status > 599 || said[status] {
				return nil, fmt.Errorf("httpguard: status %d stands in two of Final, NoEffect and Unknown, or is not between 200 and 599", status)
			}
			said[status] = true
			j[status] = verdict
		}
	}
	return j, nil
}

// of returns what a status means.
func (j judgement) of(status int) Verdict {
	if v, ok := j[status]; ok {
		return v
	}
	return Final
}

// verdictError is the error by which the guard is told of an answer that is not final.
type verdictError struct {
	status int
	why    string
}

func (e *verdictError) Error() string {
	if e.why != "" {
		return fmt.Sprintf("status %d: %s", e.status, e.why)
	}
	return fmt.Sprintf("status %d", e.status)
}

// wrap returns the error for a verdict; nil when it is final.
func (v Verdict) wrap(status int, why string) error {
	switch v {
	case NoEffect:
		return reprise.NoEffect(&verdictError{status, why})
	case Unknown:
		return &verdictError{status, why}
	}
	return nil
}
