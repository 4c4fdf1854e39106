package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	ended   sync.WaitGroup
}

// NewRestores returns the API of a plan. What it begins it works on until life ends; the sessions stay the caller's, who waits before they
// are closed: [Restores.Wait].
func NewRestores(life context.Context, sessions *restore.Sessions, runner *restore.Runner, plan string, log *slog.Logger) *Restores {
	return &Restores{sessions: sessions, runner: runner, plan: plan, log: log, life: life}
}

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
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		fail(w, http.StatusBadRequest, ProblemRequestMalformed, "After the restore there is something else in the body: a request begins one restore.")
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
	var session restore.Session
	resumed := false
	err := a.whole(r.Context(), func(ctx context.Context) (err error) {
		request := restore.Request{FailedAt: body.FailureTime, Who: body.Who, Why: body.Why, Rate: body.Rate, Again: body.Again}
		if session, resumed, err = a.runner.Start(ctx, request); err == nil {
			a.work()
		}
		return err
	})
	if err != nil {
		a.refuse(w, err)
		return
	}
	w.Header().Set("Location", "/v1/restores/"+strconv.FormatInt(session.ID, 10))
	answer(w, http.StatusAccepted, map[string]any{"id": session.ID, "resumed": resumed, "state": session.State})
}

// whole does all of a change, whatever becomes of the request that asked for it: what is half done, because a client has gone away, is a
// session that keeps traffic out and that nobody goes on with. Only the end of the process's life ends it.
func (a *Restores) whole(asking context.Context, change func(context.Context) error) error {
	done := make(chan error, 1)
	a.mu.Lock() // who waits for the end of what is done has not begun to
	if err := store.NotSent(a.life); err != nil {
		a.mu.Unlock()
		return err
	}
	a.ended.Go(func() {
		err := change(a.life)
		if err != nil && asking.Err() != nil { // nobody else is told
			a.log.Warn("reprise: what a client asked for, who has gone away, was not done", "error", err)
		}
		done <- err
	})
	a.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-asking.Done():
		return store.Indeterminate(context.Cause(asking))
	}
}

// work works on the live session, once at a time. The work on the one before may not have returned yet: who does it looks again then.
func (a *Restores) work() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = true
	if a.working || a.life.Err() != nil {
		return
	}
	a.working = true
	a.ended.Go(func() {
		for a.again() {
			session, err := a.runner.Work(a.life)
			if err != nil && a.life.Err() == nil && !errors.Is(err, restore.ErrOver) { // one that is over was asked for when it was not
				a.log.Error("reprise: a restore does not go on", "session", session.ID, "error", err)
			}
		}
	})
}

// Wait returns when nothing is worked on any more. It is called after life has ended: what this process had of a restore it gives back first,
// so that whoever goes on need not wait until its leases end.
func (a *Restores) Wait() {
	a.mu.Lock() // whoever was about to begin has begun
	begun := &a.ended
	a.mu.Unlock()
	begun.Wait()
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

// change is POST /v1/restores/ID:pause, :resume, :pace and :cancel.
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
	var change func(context.Context) error
	switch verb {
	case "pause":
		change = func(ctx context.Context) error { return a.runner.Pause(ctx, session.ID, who, why) }
	case "resume":
		change = func(ctx context.Context) error {
			err := a.runner.Ready(ctx) // or the work would end at once, and nobody go on
			if err == nil {
				err = a.runner.Resume(ctx, session.ID, who, why)
			}
			if err == nil {
				a.work()
			}
			return err
		}
	case "pace":
		rate, batch, err := paceOf(r.URL.Query())
		if err != nil {
			fail(w, http.StatusBadRequest, ProblemRequestMalformed, err.Error())
			return
		}
		change = func(ctx context.Context) error { return a.runner.Pace(ctx, session.ID, rate, int(batch), who) }
	case "cancel":
		change = func(ctx context.Context) error { return a.runner.Cancel(ctx, session.ID, who, why) }
	default:
		fail(w, http.StatusNotFound, ProblemNotFound, "What can be done is :pause, :resume, :pace and :cancel.")
		return
	}
	if err := a.whole(r.Context(), change); err != nil {
		a.refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// paceOf reads how fast a restore is to go.
func paceOf(query url.Values) (rate, batch int64, err error) {
	if rate, err = strconv.ParseInt(query.Get("rate"), 10, 64); err != nil {
		return 0, 0, errors.New("say how many units a second each worker does at most, as &rate=NUMBER; 0 is no limit")
	}
	if text := query.Get("batch"); text != "" {
		if batch, err = strconv.ParseInt(text, 10, 32); err != nil {
			return 0, 0, errors.New("how many targets a worker takes at once is a number: &batch=NUMBER")
		}
	}
	return rate, batch, nil
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
		if err == nil {
			err = store.NotSent(a.life) // a process that ends does not wait until all have left
		}
		switch {
		case err != nil && after == 0: // nothing has left
			a.refuse(w, err)
			return
		case err != nil:
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
