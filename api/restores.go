package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// Restores answers below /v1/restores. Make one with [NewRestores].
type Restores struct {
	sessions *restore.Sessions
	runner   *restore.Runner
	plan     string
	log      *slog.Logger
	life     context.Context

	mu      sync.Mutex
	working bool // this process works
	asked   bool // it was asked to since it looked last
}

// NewRestores returns the API of a plan. What it begins it works on until life ends; the sessions stay the caller's.
func NewRestores(life context.Context, sessions *restore.Sessions, runner *restore.Runner, plan string, log *slog.Logger) *Restores {
	return &Restores{sessions: sessions, runner: runner, plan: plan, log: log, life: life}
}

// Types of problems, without the prefix of package httpguard.
const (
	ProblemRequestMalformed = "request-malformed"
	ProblemNotFound         = "not-found"
	ProblemMethodNotAllowed = "method-not-allowed" // the path has others
	ProblemCrossOrigin      = "cross-origin"       // a page of another origin
	ProblemRestoreRunning   = "restore-running"    // another process manages one
	ProblemRestoreComplete  = "restore-complete"   // nothing is known to be lost since
	ProblemRestoreRefused   = "restore-refused"    // another configuration, or a time that cannot be
	ProblemRestoreOver      = "restore-over"       // the session is over
)

// maxBody is how large a request may be.
const maxBody = 64 << 10

// Handler returns what answers. What is not asked for as it should be is answered with a problem, too: other paths by 404, other
// methods of a path by 405, pages of other origins by 403.
func (a *Restores) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]http.HandlerFunc{
		"/v1/restores":               {http.MethodPost: a.start},
		"/v1/restores/{id}":          {http.MethodGet: a.get, http.MethodPost: a.change},
		"/v1/restores/{id}/findings": {http.MethodGet: a.findings},
	} {
		for method, handle := range methods {
			mux.HandleFunc(method+" "+path, handle)
		}
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allowed)
			fail(w, http.StatusMethodNotAllowed, ProblemMethodNotAllowed, r.Method+" is not for this path: "+allowed+".")
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, ProblemNotFound, "There is nothing at this path; restores are at /v1/restores.")
	})
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusForbidden, ProblemCrossOrigin, "A page of another origin may not do this.")
	}))
	return origins.Handler(mux)
}

// asked is the body of a request that begins a restore.
type asked struct {
	Plan        string    `json:"plan"`
	FailureTime time.Time `json:"failure_time"`
	Who         string    `json:"who"`
	Why         string    `json:"why"`
	Rate        int64     `json:"rate"`
	Again       bool      `json:"again"`
}

func (a *Restores) start(w http.ResponseWriter, r *http.Request) {
	var body asked
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		fail(w, http.StatusBadRequest, ProblemRequestMalformed, "The body is not a restore: "+err.Error())
		return
	}
	if body.Plan != "" && body.Plan != a.plan {
		fail(w, http.StatusBadRequest, ProblemRequestMalformed, "There is no such plan; the one that there is is "+a.plan+".")
		return
	}
	if body.Who == "" || body.Why == "" {
		fail(w, http.StatusBadRequest, ProblemRequestMalformed, "A restore keeps traffic out: say who wants it, in `who`, and why, in `why`. Both are kept.")
		return
	}
	session, resumed, err := a.runner.Start(r.Context(), restore.Request{FailedAt: body.FailureTime, Who: body.Who, Why: body.Why, Rate: body.Rate, Again: body.Again})
	if err != nil {
		a.refuse(w, err)
		return
	}
	a.work()
	w.Header().Set("Location", "/v1/restores/"+strconv.FormatInt(session.ID, 10))
	answer(w, http.StatusAccepted, map[string]any{"id": session.ID, "resumed": resumed, "state": session.State})
}

// work works on the live session, once at a time. The work on the one before may not have returned yet: who does it looks again then.
func (a *Restores) work() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = true
	if a.working {
		return
	}
	a.working = true
	go func() {
		for a.again() {
			session, err := a.runner.Work(a.life)
			if err != nil && a.life.Err() == nil && !errors.Is(err, restore.ErrOver) { // one that is over was asked for when it was not
				a.log.Error("reprise: a restore does not go on", "session", session.ID, "error", err)
			}
		}
	}()
}

// again reports whether somebody has asked for work since the last time. If not, whoever asks next begins it.
func (a *Restores) again() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working, a.asked = a.asked, false
	return a.working
}

// session returns the one that a path names.
func (a *Restores) session(w http.ResponseWriter, r *http.Request, id string) (restore.Session, bool) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		fail(w, http.StatusNotFound, ProblemNotFound, "Restores have numbers.")
		return restore.Session{}, false
	}
	session, err := a.sessions.Session(r.Context(), number)
	if err != nil {
		a.refuse(w, err)
		return session, false
	}
	return session, true
}

func (a *Restores) get(w http.ResponseWriter, r *http.Request) {
	session, ok := a.session(w, r, r.PathValue("id"))
	if !ok {
		return
	}
	progress, err := a.sessions.Progress(r.Context(), session.ID)
	if err != nil {
		a.refuse(w, err)
		return
	}
	answer(w, http.StatusOK, progress)
}

// change is POST /v1/restores/ID:pause, :resume and :cancel.
func (a *Restores) change(w http.ResponseWriter, r *http.Request) {
	id, verb, _ := strings.Cut(r.PathValue("id"), ":")
	session, ok := a.session(w, r, id)
	if !ok {
		return
	}
	who, why := r.URL.Query().Get("who"), r.URL.Query().Get("why")
	if who == "" || why == "" {
		fail(w, http.StatusBadRequest, ProblemRequestMalformed, "Say who does it and why, as ?who=NAME&why=TEXT: it is kept.")
		return
	}
	var err error
	switch verb {
	case "pause":
		err = a.runner.Pause(r.Context(), session.ID, who, why)
	case "resume":
		if err = a.runner.Resume(r.Context(), session.ID, who, why); err == nil {
			a.work()
		}
	case "cancel":
		err = a.runner.Cancel(r.Context(), session.ID, who, why)
	default:
		fail(w, http.StatusNotFound, ProblemNotFound, "What can be done is :pause, :resume and :cancel.")
		return
	}
	if err != nil {
		a.refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// findingsAtOnce is how many are read at once.
const findingsAtOnce = 1000

// findings writes what verification has found, a line of JSON each.
func (a *Restores) findings(w http.ResponseWriter, r *http.Request) {
	session, ok := a.session(w, r, r.PathValue("id"))
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder := json.NewEncoder(w)
	for after := int64(0); ; {
		found, err := a.sessions.Findings(r.Context(), session.ID, after, findingsAtOnce)
		if err != nil {
			a.log.Warn("reprise: findings of a restore cannot be read", "session", session.ID, "error", err)
			_ = encoder.Encode(map[string]string{"error": "these are not all: ask again"}) // if the client is gone, nobody is there to be told
			return
		}
		for _, f := range found {
			if encoder.Encode(f) != nil {
				return // the client is gone
			}
			after = f.ID
		}
		if len(found) < findingsAtOnce {
			return
		}
	}
}

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
	fail(w, status, httpguard.ProblemStoreUnavailable, "A database cannot be asked: ask again.")
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
	case ProblemRestoreRunning:
		return "A restore is running"
	case ProblemRestoreComplete:
		return "Already complete, nothing done"
	case ProblemRestoreRefused:
		return "The restore is refused"
	case ProblemRestoreOver:
		return "The restore is over"
	}
	return ""
}

func fail(w http.ResponseWriter, status int, kind, detail string) {
	httpguard.WriteProblem(w, httpguard.Problem{Type: kind, Status: status, Title: title(kind), Detail: detail})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // if the client is gone, nobody is there to be told
}
