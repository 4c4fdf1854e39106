package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// Types of problems, without the prefix of package httpguard.
const (
	ProblemRequestMalformed = "request-malformed"
	ProblemNotFound         = "not-found"
	ProblemMethodNotAllowed = "method-not-allowed" // the path has others
	ProblemCrossOrigin      = "cross-origin"       // a page of another origin
	ProblemOtherHost        = "other-host"         // under another name than this machine's
	ProblemRestoreRunning   = "restore-running"    // another process manages one
	ProblemRestoreComplete  = "restore-complete"   // nothing is known to be lost since
	ProblemRestoreRefused   = "restore-refused"    // another configuration, or a time that cannot be
	ProblemRestoreOver      = "restore-over"       // the session is over
)

// refuse answers an error of package restore.
func (a *Restores) refuse(w http.ResponseWriter, err error) {
	for _, known := range []struct {
		err    error
		status int
		kind   string
	}{
		{restore.ErrRunning, http.StatusConflict, ProblemRestoreRunning},
		{restore.ErrComplete, http.StatusConflict, ProblemRestoreComplete},
		{restore.ErrOtherPlan, http.StatusConflict, ProblemRestoreRefused},
		{restore.ErrFailureTime, http.StatusUnprocessableEntity, ProblemRestoreRefused},
		{restore.ErrRequest, http.StatusBadRequest, ProblemRequestMalformed},
		{restore.ErrOtherSystem, http.StatusConflict, ProblemRestoreRefused},
		{restore.ErrRefused, http.StatusConflict, ProblemRestoreRefused},
		{restore.ErrNone, http.StatusNotFound, ProblemNotFound},
		{restore.ErrOver, http.StatusConflict, ProblemRestoreOver},
	} {
		if errors.Is(err, known.err) {
			fail(w, known.status, known.kind, err.Error())
			return
		}
	}
	a.log.Warn("reprise: restores cannot be asked", "error", err)
	status := http.StatusInternalServerError
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	detail := "A database cannot be asked: ask again."
	if errors.Is(err, store.ErrSchema) {
		detail = err.Error() // which says what to do
	}
	fail(w, status, httpguard.ProblemStoreUnavailable, detail)
}

// title returns that of a problem of this package.
func title(kind string) string {
	switch kind {
	case ProblemRequestMalformed:
		return "The request makes no sense"
	case ProblemNotFound:
		return "Not found"
	case ProblemMethodNotAllowed:
		return "The path has other methods"
	case ProblemCrossOrigin:
		return "From another origin"
	case ProblemOtherHost:
		return "Another host is meant"
	case ProblemRestoreRunning:
		return "A restore is running"
	case ProblemRestoreComplete:
		return "Already complete, nothing done"
	case ProblemRestoreRefused:
		return "The restore is refused"
	case ProblemRestoreOver:
		return "The restore is over"
	case httpguard.ProblemStoreUnavailable:
		return "The restores cannot be asked for now"
	}
	return ""
}

// RefuseHost answers a request to a name that is not one of this machine's.
func RefuseHost(w http.ResponseWriter, _ *http.Request) {
	fail(w, http.StatusForbidden, ProblemOtherHost, "Only requests to localhost and loopback addresses are answered here.")
}

func fail(w http.ResponseWriter, status int, kind, detail string) {
	httpguard.WriteProblem(w, httpguard.Problem{Type: kind, Status: status, Title: title(kind), Detail: detail})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // if the client is gone, nobody is there to be told
}
