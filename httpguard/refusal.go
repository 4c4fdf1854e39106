package httpguard

import (
	"errors"
	"net/http"
	"time"

	"github.com/reprise-dev/reprise"
)

// refusal says an error of the guard to the client, and reports whether it is a fault on this side that
// is to be logged.
func refusal(err error) (p Problem, fault bool) {
	failure := &reprise.Error{}
	errors.As(err, &failure)
	if !failure.Digest.IsZero() {
		p.Extensions = map[string]any{"record": failure.Digest.String()}
	}
	switch kind := failure.Kind; {
	case kind == reprise.ErrMismatch:
		// Whether and how the first request was answered is not told to who sends another one.
		return Problem{Type: ProblemKeyReused, Detail: "A key stands for one request. Send this one with a key of its own."}, false
	case kind == reprise.ErrInProgress:
		p.Type, p.RetryAfter = ProblemInProgress, max(failure.RetryAfter, time.Second)
		p.Detail = "Send the same request again, with the same key, after Retry-After."
	case kind == reprise.ErrExpired:
		p.Type, p.Detail = ProblemAnswerExpired, "It took effect once and is not run again. Look up the result, or use a new key if you mean a new request."
		p.storedAt(failure.StoredAt)
	case kind == reprise.ErrNotKept:
		p.Type, p.Detail = ProblemAnswerNotKept, "It took effect once and is not run again. Look up the result."
		p.storedAt(failure.StoredAt)
		if first, err := ReadAnswer(failure.Response); err == nil {
			p.extend("first_status", first.Status)
		}
	case kind == reprise.ErrIncompatible:
		p.Type, p.Detail = ProblemAnswerIncompatible, "It is not run again. An older or differently configured version recorded it; ask the operator, who finds it by its record."
	case kind == reprise.ErrCorrupt:
		p.Type, p.Detail, fault = ProblemRecordUnreadable, "Nothing was done. Ask the operator, who finds it by its record.", true
	case kind == reprise.ErrLost:
		p.Type, p.RetryAfter, fault = ProblemStoreLost, 30*time.Second, true
		p.Detail = "Nothing was done, because nobody could tell whether this was done before. Try again later with the same key."
	case kind == reprise.ErrUnavailable || kind == reprise.ErrOutdated || kind == reprise.ErrClosed || kind == reprise.ErrSecret:
		p.Type, p.RetryAfter, fault = ProblemStoreUnavailable, max(failure.RetryAfter, time.Second), true
		p.Detail = "Nothing was done. Try again with the same key."
	case kind == reprise.ErrInvalid:
		p.Type, p.Detail, fault = ProblemMisconfigured, "Nothing was done. Ask the operator.", true
	default:
		p.Type, p.Detail = ProblemOutcomeUnknown, "It may have taken effect. It is not run again until somebody has found out; ask the operator, who finds it by its record."
	}
	return p, fault
}

func (p *Problem) storedAt(at time.Time) {
	if !at.IsZero() {
		p.extend("stored_at", at.UTC().Format(time.RFC3339))
	}
}

func (p *Problem) extend(name string, value any) {
	if p.Extensions == nil {
		p.Extensions = map[string]any{}
	}
	p.Extensions[name] = value
}

// principalRefusal says why it is not known who asks.
func principalRefusal(err error, w http.ResponseWriter) *Problem {
	switch {
	case errors.Is(err, ErrNoPrincipal):
		return &Problem{Type: ProblemPrincipalMissing, Detail: "Requests with a key must say who sends them: " + err.Error() + "."}
	case errors.Is(err, ErrBadPrincipal):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		return &Problem{Type: ProblemPrincipalInvalid, Detail: "Nothing was done. Send the request again with credentials that are valid; the same key will do."}
	}
	return &Problem{Type: ProblemPrincipalUnavailable, RetryAfter: time.Second, Detail: "Nothing was done. Try again with the same key."}
}
