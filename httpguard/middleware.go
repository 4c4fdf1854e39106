package httpguard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
)

// Middleware guards handlers. Make one with [New]; it is safe for concurrent use.
type Middleware struct {
	guard        *reprise.Guard
	options      Options
	rules        judgement
	fingerprints []*fingerprinter // the current one first
	private      []string         // names of headers
	workspaces   sync.Pool
}

// New returns a middleware over a guard, or an error that says what is wrong with the options.
func New(g *reprise.Guard, o Options) (*Middleware, error) {
	if g == nil {
		return nil, errors.New("httpguard: no guard")
	}
	o = o.withDefaults(g.Policy())
	if err := o.check(g.Policy()); err != nil {
		return nil, err
	}
	m := &Middleware{guard: g, options: o, private: privateHeaders(o)}
	m.workspaces.New = func() any { return &workspace{hash: sha256.New()} }
	var err error
	if m.rules, err = newJudgement(o); err != nil {
		return nil, err
	}
	for _, exclude := range append([][]string{o.Exclude}, o.ExcludedBefore...) {
		f, err := newFingerprinter(exclude)
		if err != nil {
			return nil, fmt.Errorf("httpguard: Exclude: %w", err)
		}
		m.fingerprints = append(m.fingerprints, f)
	}
	return m, nil
}

// Wrap returns next, guarded.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		event := Event{Outcome: OutcomePanicked}
		if m.options.Observe != nil {
			defer func() {
				event.Elapsed = time.Since(began)
				m.options.Observe(event)
			}()
		}
		lines := r.Header[m.options.Header]
		if !slices.Contains(m.options.Methods, r.Method) || (len(lines) == 0 && !m.options.Required) {
			next.ServeHTTP(w, r)
			event.Outcome = OutcomeUnguarded
			return
		}
		m.serve(w, r, next, lines, &event)
	})
}

// serve answers a request that is to be guarded.
func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler, lines []string, event *Event) {
	space := m.workspaces.Get().(*workspace)
	call, problem := m.call(w, r, lines, space)
	if problem != nil {
		m.release(space)
		m.problem(w, *problem, event)
		return
	}
	event.Operation = call.Operation
	x := newExchange(m, w, r, next, call.Key, space)
	// Another goroutine may be reading the body still; it is cut off before its memory is used again. After
	// a panic nothing is used again.
	defer x.body.cut()
	outcome, err := m.guard.Do(x, call, x.act)
	x.answer(outcome, err, event)
	x.body.cut()
	m.release(space)
}

// call reads all that the guard needs to know. Nothing is claimed yet: a problem leaves no trace.
func (m *Middleware) call(w http.ResponseWriter, r *http.Request, lines []string, space *workspace) (reprise.Call, *Problem) {
	if len(lines) == 0 {
		return reprise.Call{}, &Problem{Type: ProblemKeyMissing, Detail: "Send the header " + m.options.Header + " with a key that stands for this request, and the same one when you repeat it."}
	}
	key, err := parseKey(lines, m.options.Strict)
	if err != nil {
		return reprise.Call{}, &Problem{Type: ProblemKeyMalformed, Detail: err.Error()}
	}
	principal, err := m.principal(r)
	if err != nil {
		problem := principalRefusal(err, w)
		m.options.Log.InfoContext(r.Context(), "httpguard: not known who asks", "problem", problem.Type, "error", err)
		return reprise.Call{}, problem
	}
	if problem := readBody(w, r, m.options.MaxBody, &space.request); problem != nil {
		if problem.Type == ProblemMisconfigured {
			m.options.Log.ErrorContext(r.Context(), "httpguard: a handler in front of the guard has read the body (by ParseForm or FormValue, for one): put it behind the guard, or let it put the body back")
		}
		return reprise.Call{}, problem
	}
	prints := make([]machine.Fingerprint, len(m.fingerprints))
	for i, f := range m.fingerprints {
		prints[i] = f.sum(r, space.request.Bytes(), space)
	}
	return reprise.Call{Operation: m.options.Operation(r), Principal: principal, Key: key, Fingerprints: prints, Codecs: codecs[:]}, nil
}

// codecs are those that can be replayed.
var codecs = [...]string{Codec}

// problem answers with a problem.
func (m *Middleware) problem(w http.ResponseWriter, p Problem, event *Event) {
	event.Outcome = p.Type
	if status, ok := m.options.Statuses[p.Type]; ok {
		p.Status = status
	}
	WriteProblem(w, p)
}

// workspace is memory that requests use one after another.
type workspace struct {
	request  bytes.Buffer // the body that was read
	response bytes.Buffer // the body that is held
	frames   frames
	json     canonicalizer
	parts    frames // of a multipart body
	piece    []byte // what its parts are read with
	hash     hash.Hash
}

// maxPooled is the size in bytes above which memory is given back rather than used again.
const maxPooled = 256 << 10

func (m *Middleware) release(s *workspace) {
	if s.request.Cap()+s.response.Cap()+cap(s.frames)+cap(s.parts)+s.json.size() > maxPooled {
		return
	}
	s.request.Reset()
	s.response.Reset()
	m.workspaces.Put(s)
}

// MethodAndPath is the default name of an operation: "POST /orders/7". A name that would be too long to
// record ends with a digest of the whole.
func MethodAndPath(r *http.Request) string { return methodHostAndPath(r, "") }

// MethodHostAndPath is [MethodAndPath] with a host in front of the path: "POST a.example/orders/7". It is for handlers of which each
// serves one host of several, where the same path is another operation.
func MethodHostAndPath(host string) func(*http.Request) string {
	return func(r *http.Request) string { return methodHostAndPath(r, host) }
}

func methodHostAndPath(r *http.Request, host string) string {
	name := r.Method + " " + host + escapedPath(r.URL)
	if len(name) <= machine.MaxOperationName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:machine.MaxOperationName-2*len(sum)-1] + "~" + hex.EncodeToString(sum[:])
}
