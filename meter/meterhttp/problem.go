package meterhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// Types of problems beside those of package httpguard, without its prefix.
const (
	ProblemGateClosed       = "gate-closed"        // policy 8 is closed
	ProblemIntakeFull       = "intake-full"        // workers do not keep up
	ProblemNotConfirmed     = "not-confirmed"      // it may have been done
	ProblemEventRefused     = "event-refused"      // reason, field and detail say why
	ProblemRequestMalformed = "request-malformed"  // a body or a parameter
	ProblemMediaType        = "media-type"         // neither JSON nor NDJSON
	ProblemNotFound         = "not-found"          // no such line, family, policy or path
	ProblemMethodNotAllowed = "method-not-allowed" // the path has others
	ProblemUnauthorized     = "unauthorized"       // without the token
	ProblemCrossOrigin      = "cross-origin"       // a page of another origin
	ProblemGrantRefused     = "grant-refused"      // reason, field and detail say why
	ProblemLineRefused      = "line-refused"       // the same, of a line
	ProblemPolicyRefused    = "policy-refused"     // the same, of a policy
	ProblemGateManaged      = "gate-managed"       // hydration and restore open and close it
	ProblemVersionMissing   = "version-missing"    // which version of a policy was seen is not said
	ProblemVersionConflict  = "version-conflict"   // another version of a policy is the current one
	ProblemMoveUnfinished   = "move-unfinished"    // repeat it
	ProblemHeldByRestore    = "held-by-restore"    // later
)

// kind is a type of problem with its status, title, and when to ask again.
type kind struct {
	status int
	title  string
	again  time.Duration
}

func kindOf(name string) kind {
	switch name {
	case ProblemGateClosed:
		return kind{http.StatusServiceUnavailable, "Nothing is decided while the gate is closed", 5 * time.Second}
	case ProblemIntakeFull:
		return kind{http.StatusTooManyRequests, "The intake is full", time.Second}
	case ProblemNotConfirmed:
		return kind{http.StatusServiceUnavailable, "It may have been done", time.Second}
	case ProblemEventRefused:
		return kind{http.StatusUnprocessableEntity, "The event is refused", 0}
	case ProblemRequestMalformed:
		return kind{http.StatusBadRequest, "The request makes no sense", 0}
	case ProblemMediaType:
		return kind{http.StatusUnsupportedMediaType, "The body is of another type", 0}
	case ProblemNotFound:
		return kind{http.StatusNotFound, "Not found", 0}
	case ProblemMethodNotAllowed:
		return kind{http.StatusMethodNotAllowed, "The path has other methods", 0}
	case ProblemUnauthorized:
		return kind{http.StatusUnauthorized, "The token is missing or another", 0}
	case ProblemCrossOrigin:
		return kind{http.StatusForbidden, "From another origin", 0}
	case ProblemGrantRefused:
		return kind{http.StatusUnprocessableEntity, "The grant is refused", 0}
	case ProblemLineRefused:
		return kind{http.StatusUnprocessableEntity, "The line is refused", 0}
	case ProblemPolicyRefused:
		return kind{http.StatusUnprocessableEntity, "The policy is refused", 0}
	case ProblemGateManaged:
		return kind{http.StatusConflict, "The gate is not opened or closed here", 0}
	case ProblemVersionMissing:
		return kind{http.StatusPreconditionRequired, "The version that was seen is missing", 0}
	case ProblemVersionConflict:
		return kind{http.StatusPreconditionFailed, "Another version is the current one", 0}
	case ProblemMoveUnfinished:
		return kind{http.StatusConflict, "The line has not moved yet", time.Second}
	case ProblemHeldByRestore:
		return kind{http.StatusConflict, "A restore is under way", 30 * time.Second}
	case httpguard.ProblemStoreUnavailable, httpguard.ProblemStoreLost:
		return kind{http.StatusServiceUnavailable, "The databases cannot be asked now", time.Second}
	}
	return kind{} // of httpguard
}

// problem returns a problem of a type. With each nothing was done, or the same may be sent again, because events and grants count
// once: a guard in front must not keep it as the last word on its key.
func problem(name, detail string) httpguard.Problem {
	k := kindOf(name)
	return httpguard.Problem{Type: name, Status: k.status, Title: k.title, Detail: detail, RetryAfter: k.again, Verdict: httpguard.NoEffect}
}

// refused returns the problem of a refusal, of a type that says what was refused.
func refused(name string, r *meter.Refusal) httpguard.Problem {
	p := problem(name, r.Detail)
	p.Extensions = map[string]any{"reason": r.Reason}
	if r.Field != "" {
		p.Extensions["field"] = r.Field
	}
	return p
}

func fail(w http.ResponseWriter, p httpguard.Problem) { httpguard.WriteProblem(w, p) }

// problemOf translates an error. Refusals are of the type that the caller names.
func problemOf(err error, refusals string) httpguard.Problem {
	refusal, ok := errors.AsType[*meter.Refusal](err)
	switch {
	case errors.Is(err, meter.GateClosed):
		return problem(ProblemGateClosed, "Nothing is decided until the gate is open: send it again then.")
	case ok:
		return refused(refusals, refusal)
	case errors.Is(err, meterredis.ErrFull):
		return problem(ProblemIntakeFull, "Nothing of the event was taken in: send it again.")
	case errors.Is(err, meterledger.ErrUnknown):
		return problem(ProblemNotFound, err.Error())
	case errors.Is(err, meterledger.ErrHeld):
		return problem(ProblemHeldByRestore, err.Error())
	case errors.Is(err, store.ErrLost):
		return problem(httpguard.ProblemStoreLost, "Redis has lost what it had: it has to be hydrated or restored.")
	case errors.Is(err, store.ErrIndeterminate):
		return problem(ProblemNotConfirmed, "It may have been done: send the same again, which is harmless.")
	}
	return problem(httpguard.ProblemStoreUnavailable, "Redis or SQL cannot be asked: send the same again.")
}

// failWith answers an error, and tells the log of those that are nobody's request's fault.
func (s *Service) failWith(w http.ResponseWriter, r *http.Request, err error, refusals string) {
	p := problemOf(err, refusals)
	if p.Status >= http.StatusInternalServerError && p.Type != ProblemGateClosed {
		s.Log.WarnContext(r.Context(), "meter: a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	fail(w, p)
}

// authorized reports whether a request has the token, in a time that does not depend on how much of it is right.
func (s *Service) authorized(r *http.Request) bool {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token))
	return s.Token == "" || subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// answer writes a document.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
