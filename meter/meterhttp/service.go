package meterhttp

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

//go:embed openapi.json
var openAPI []byte

// Parts are what the handlers work with.
type Parts struct {
	Intake    *pipeline.Intake
	Meter     *meterredis.Meter
	Ledger    *meterledger.Ledger
	Directory *pipeline.Directory
	Keeper    *pipeline.Keeper
	Mover     *pipeline.Mover
	Inspector *inspect.Inspector
	// Now is the clock by which events are too old or from the future; nil is [time.Now].
	Now func() time.Time
	// MaxBody is how large the body of a request may be; 0 is 4 MiB.
	MaxBody int64
	// MaxWait is for how long ?wait=true and a move wait; 0 is 10 s.
	MaxWait time.Duration
	// Token is what requests below /v1/ have to carry as a bearer token; empty is none.
	Token string
	// Metrics answers /metrics; nil is nothing.
	Metrics http.Handler
	// Meters makes the instruments; nil is none.
	Meters metric.MeterProvider
	// Log is told of what failed here; nil is nobody.
	Log *slog.Logger
}

// Service answers requests. Make one with [New].
type Service struct {
	Parts
	handler  http.Handler
	counted  instruments
	draining atomic.Bool
	policies sync.Mutex // a line's policies are read and written as a whole
}

// New returns the service. What it is given stays the caller's.
func New(p Parts) (*Service, error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.MaxBody == 0 {
		p.MaxBody = 4 << 20
	}
	if p.MaxWait == 0 {
		p.MaxWait = 10 * time.Second
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Parts: p}
	var err error
	if s.counted, err = newInstruments(p); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routes() {
		mux.HandleFunc(r.method+" "+r.path, r.handle)
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.HandleFunc(path, refuseMethod(allowed))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, problem(ProblemNotFound, "There is nothing here: /openapi.json lists what there is."))
	})
	s.handler = s.admit(mux)
	return s, nil
}

type route struct {
	method, path string
	handle       http.HandlerFunc
}

func (s *Service) routes() []route {
	return []route{
		{http.MethodPost, "/v1/usage", s.usage},
		{http.MethodGet, "/v1/lines/{id}", s.getLine},
		{http.MethodPut, "/v1/lines/{id}", s.putLine},
		{http.MethodPost, "/v1/lines/{id}/grants", s.postGrant},
		{http.MethodGet, "/v1/families/{id}", s.getFamily},
		{http.MethodGet, "/v1/policies/{id}", s.getPolicy},
		{http.MethodPut, "/v1/policies/{id}", s.putPolicy},
		{http.MethodGet, "/healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") }},
		{http.MethodGet, "/readyz", s.ready},
		{http.MethodGet, "/metrics", s.metrics},
		{http.MethodGet, "/openapi.json", document},
	}
}

// ServeHTTP implements [http.Handler].
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Drain makes /readyz say that no more requests should be sent here.
func (s *Service) Drain() { s.draining.Store(true) }

// admit lets in who may: requests with the token, where there is one, and none that a page of another origin has made.
func (s *Service) admit(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, problem(ProblemCrossOrigin, "A page of another origin has made this request."))
	}))
	guarded := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") && !s.authorized(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, problem(ProblemUnauthorized, "Send the token as Authorization: Bearer TOKEN."))
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

func refuseMethod(allowed []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		fail(w, problem(ProblemMethodNotAllowed, r.Method+" is not for this path: "+strings.Join(allowed, " and ")+" are."))
	}
}

// ready says whether requests should be sent to this process: yes until it begins to stop. A closed gate or a database that does
// not answer is the same for all processes, so it changes nothing; who wants to know asks for ?store=required.
func (s *Service) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		say(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	status, within := minding(r)
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	err := s.Ledger.Ping(ctx)
	if err == nil {
		err = s.Meter.GateOpen(ctx)
	}
	if err != nil {
		say(w, status, "nothing is decided: "+err.Error())
		return
	}
	say(w, http.StatusOK, "ok")
}

// minding returns what is answered where the databases do not answer, and how long they have for it.
func minding(r *http.Request) (status int, within time.Duration) {
	if r.URL.Query().Get("store") == "required" {
		return http.StatusServiceUnavailable, probeTimeout
	}
	return http.StatusOK, asideTimeout
}

// These bound the question whether the databases answer. Where that is only mentioned, the answer must come before those who ask give up,
// which is after a second by default in Kubernetes.
const (
	probeTimeout = 2 * time.Second
	asideTimeout = 500 * time.Millisecond
)

func (s *Service) metrics(w http.ResponseWriter, r *http.Request) {
	if s.Metrics == nil {
		fail(w, problem(ProblemNotFound, "Nothing is measured here."))
		return
	}
	s.Metrics.ServeHTTP(w, r)
}

func document(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI)
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
