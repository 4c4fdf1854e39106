package meterhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

// site is a meter with its databases and its service.
type site struct {
	t       *testing.T
	redis   string
	parts   Parts
	service *Service
	answers *answers
}

// documented is the part of openapi.json that tests compare with.
type documented struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema struct {
					AllOf []struct {
						Properties map[string]struct{ Enum []string }
					} `json:"allOf"`
				}
			}
		}
	}
}

// answers are what was answered, by route, status and type of problem, as openapi.json lists them.
type answers struct {
	mu   sync.Mutex
	seen map[string]bool
	all  map[string]bool
}

func newAnswers(t *testing.T) *answers {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d documented
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	a := &answers{seen: map[string]bool{}, all: map[string]bool{}}
	for path, operations := range d.Paths {
		for method, operation := range operations {
			for status, response := range operation.Responses {
				where := strings.ToUpper(method) + " " + path + " " + status
				if problems, ok := response.Content["application/problem+json"]; ok {
					for _, problem := range problems.Schema.AllOf[1].Properties["type"].Enum {
						a.all[where+" "+strings.TrimPrefix(problem, httpguard.ProblemPrefix)] = true
					}
					continue
				}
				a.all[where] = true
			}
		}
	}
	return a
}

// note checks an answer against the document.
func (a *answers) note(t *testing.T, route string, w *httptest.ResponseRecorder) {
	t.Helper()
	where := fmt.Sprintf("%s %d", route, w.Code)
	if w.Header().Get("Content-Type") == "application/problem+json" {
		where += " " + problemIn(w.Body.String())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[where] = true; !a.all[where] {
		t.Errorf("openapi.json does not list %s", where)
	}
}

func problemIn(body string) string {
	var p struct{ Type string }
	_ = json.Unmarshal([]byte(body), &p)
	return strings.TrimPrefix(p.Type, httpguard.ProblemPrefix)
}

// newSite makes a hydrated meter with four lines, two of them in a family.
func newSite(t *testing.T, ledger string) *site {
	t.Helper()
	s := &site{t: t, redis: servicetest.Redis(t).Database(t), answers: newAnswers(t)}
	horizon := meter.Horizon{Retention: 48 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead}
	var calendar meter.Calendar
	l, err := meterledger.Open(t.Context(), ledger, meterledger.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test may have closed it
	directory := pipeline.NewDirectory(l, time.Minute)
	families := []meterledger.Family{{ID: "fam", Shared: 1000}, {ID: "other", Shared: 1000}}
	lines := []meterledger.Line{{ID: "a", Family: "fam", Individual: 1000, QoS: 100}, {ID: "b", Family: "fam", Individual: 1000}, {ID: "c", Individual: 1000}, {ID: "d", Individual: 1000}}
	s.must(l.Import(t.Context(), families, lines, []string{"video", "chat"}))
	keeper := &pipeline.Keeper{Ledger: l, Directory: directory, Calendar: calendar, Horizon: horizon}
	_, err = keeper.OpenMonths(t.Context())
	s.must(err)
	_, err = pipeline.Hydrate(t.Context(), pipeline.Hydration{Ledger: l, Redis: s.redis, Calendar: calendar, Horizon: horizon, Who: "test", Why: "it begins"})
	s.must(err)
	m, err := meterredis.Open(t.Context(), s.redis, meterredis.Options{Calendar: calendar, Horizon: horizon}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.must(m.Close()) })
	streams, err := m.OpenStreams(t.Context(), 1000)
	s.must(err)
	keeper.Meter = m
	s.parts = Parts{
		Intake: &pipeline.Intake{Meter: m, Streams: streams, Ledger: l, Directory: directory, Horizon: horizon},
		Meter:  m, Ledger: l, Directory: directory, Keeper: keeper,
		Mover:     &pipeline.Mover{Meter: m, Ledger: l, Directory: directory, Calendar: calendar, Horizon: horizon},
		Inspector: &inspect.Inspector{Meter: m, Ledger: l, Calendar: calendar, Horizon: horizon},
		MaxWait:   20 * time.Second,
	}
	s.serve()
	return s
}

// serve makes the service anew, of the parts as they are now.
func (s *site) serve() {
	s.t.Helper()
	var err error
	if s.service, err = New(s.parts); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Error(err)
	}
}

// work runs a worker until the test ends.
func (s *site) work() {
	ctx, cancel := context.WithCancel(s.t.Context())
	w := pipeline.NewWorker(pipeline.WorkerOptions{Meter: s.parts.Meter, Streams: s.parts.Intake.Streams, Ledger: s.parts.Ledger, Directory: s.parts.Directory, Batch: 100})
	var group sync.WaitGroup
	group.Go(func() { w.Run(ctx) })
	s.t.Cleanup(func() { cancel(); group.Wait() })
}

// reply is an answer.
type reply struct {
	code   int
	body   string
	header http.Header
}

func (r reply) problem() string { return problemIn(r.body) }

// send sends a request: header lines are "Name: value".
func (s *site) send(method, target string, body io.Reader, header ...string) reply {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost"+target, body)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	s.service.ServeHTTP(w, r)
	if route := s.route(r); route != "" {
		s.answers.note(s.t, route, w)
	}
	return reply{w.Code, w.Body.String(), w.Header()}
}

// route is the operation of a request, as openapi.json calls it.
func (s *site) route(r *http.Request) string {
	mux := http.NewServeMux()
	for _, route := range s.service.routes() {
		mux.HandleFunc(route.method+" "+route.path, route.handle)
	}
	_, pattern := mux.Handler(r)
	return pattern
}

func (s *site) want(what string, got reply, code int, problem string) {
	s.t.Helper()
	if got.code != code || got.problem() != problem {
		s.t.Errorf("%s: %d %s, want %d %q", what, got.code, got.body, code, problem)
	}
	if (code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests) && problem != "" && got.header.Get("Retry-After") == "" {
		s.t.Errorf("%s: no Retry-After", what)
	}
}

func event(id, line string, bytes int64, at time.Time) string {
	return string(meter.Event{ID: id, Line: line, App: "video", Bytes: bytes, At: at}.AppendJSON(nil))
}

func decode[T any](t *testing.T, r reply) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Errorf("%v in %s", err, r.body)
	}
	return v
}

func eachLedger(t *testing.T, test func(t *testing.T, s *site)) {
	for name, dsn := range map[string]func(t *testing.T) string{
		"postgres": func(t *testing.T) string { return servicetest.Postgres(t).Database(t) },
		"mariadb":  func(t *testing.T) string { return servicetest.MariaDB(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, dsn(t)))
		})
	}
}

// missing lists what the document has and the tests have not seen.
func (a *answers) missing() []string {
	var all []string
	for where := range a.all {
		if !a.seen[where] {
			all = append(all, where)
		}
	}
	slices.Sort(all)
	return all
}

// broken is a body that ends early.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the connection is gone") }
