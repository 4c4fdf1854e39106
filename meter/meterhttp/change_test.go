package meterhttp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

const keyLine = "Idempotency-Key: "

func (s *site) grant(line, key, body string) reply {
	s.t.Helper()
	return s.send("POST", "/v1/lines/"+line+"/grants", strings.NewReader(body), "Content-Type: application/json", keyLine+key)
}

func (s *site) left(line string) int64 {
	s.t.Helper()
	status := decode[struct {
		SQL, Redis struct{ Left struct{ Individual int64 } }
	}](s.t, s.send("GET", "/v1/lines/"+line, nil))
	if status.SQL != status.Redis {
		s.t.Errorf("line %s: %+v", line, status)
	}
	return status.Redis.Left.Individual
}

// A key makes one grant, however often and from how many at once it is sent; with other content it is refused; and a grant behind
// a closed gate is in SQL, and applied once when it opens.
func TestGrantsAreMadeOnce(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, s *site) {
		month := s.parts.Inspector.Calendar.Month(time.Now())
		body := fmt.Sprintf(`{"month":%d,"individual":50,"qos":1}`, month)
		var group sync.WaitGroup
		codes := make(chan int, 8)
		for range cap(codes) {
			group.Go(func() { codes <- s.grant("c", "key-1", body).code })
		}
		group.Wait()
		close(codes)
		made := 0
		for code := range codes {
			if code == http.StatusCreated {
				made++
			} else if code != http.StatusOK && code != http.StatusAccepted { // the other's effect is under way
				t.Errorf("status %d", code)
			}
		}
		again := s.grant("c", `"key-1"`, body)
		if made > 1 || again.code != http.StatusOK || again.header.Get("Idempotency-Replayed") != "true" || !decode[Grant](t, again).Applied {
			t.Errorf("made %d; again %d %s", made, again.code, again.body)
		}
		if left := s.left("c"); left != 1050 {
			t.Errorf("left %d", left)
		}
		s.want("other content", s.grant("c", "key-1", fmt.Sprintf(`{"month":%d,"individual":51}`, month)), http.StatusUnprocessableEntity, "key-reused")
		s.want("another line's key is another", s.grant("d", "key-1", body), http.StatusCreated, "")
		for what, body := range map[string]string{
			"nothing": fmt.Sprintf(`{"month":%d}`, month), "negative": fmt.Sprintf(`{"month":%d,"individual":-1}`, month),
			"too much": fmt.Sprintf(`{"month":%d,"individual":9223372036854775807}`, month), "no month": `{"month":202613,"individual":1}`,
			"over": `{"month":202501,"individual":1}`,
		} {
			s.want(what, s.grant("c", "key-2", body), http.StatusUnprocessableEntity, ProblemGrantRefused)
		}
		for what, body := range map[string]string{"fraction": `{"month":202601,"individual":1.5}`, "unknown": `{"month":202601,"Individual":1}`, "none": `{"individual":1}`, "text": `x`, "twice": `{"month":202601,"month":202601}`, "more": `{"month":202601}{}`, "2^63": `{"month":202601,"qos":9223372036854775808}`, "null": `{"month":202601,"individual":null}`} {
			s.want(what, s.grant("c", "key-2", body), http.StatusBadRequest, ProblemRequestMalformed)
		}
		s.want("no key", s.send("POST", "/v1/lines/c/grants", strings.NewReader(body)), http.StatusBadRequest, "key-missing")
		s.want("two keys", s.send("POST", "/v1/lines/c/grants", strings.NewReader(body), keyLine+"a", keyLine+"b"), http.StatusBadRequest, "key-malformed")
		s.want("no line", s.grant("nobody", "key-3", body), http.StatusNotFound, ProblemNotFound)
		early := s.grant("c", "key-5", fmt.Sprintf(`{"month":%d,"individual":1}`, month.Next().Next()))
		if g := decode[Grant](t, early); early.code != http.StatusAccepted || g.Applied || g.Why == nil || g.Why.Reason != meter.MonthNotOpen {
			t.Errorf("of a later month: %d %s", early.code, early.body)
		}
		s.closeGate()
		late := s.grant("c", "key-4", body)
		if g := decode[Grant](t, late); late.code != http.StatusAccepted || g.Applied || g.Why == nil || g.Why.Reason != meter.GateClosed {
			t.Errorf("behind the gate: %d %s", late.code, late.body)
		}
	})
}

// A line that is made over HTTP can be used at once; its plan can be changed, and it moves.
func TestLines(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, s *site) {
		s.work()
		put := func(line, body string) reply { return s.send("PUT", "/v1/lines/"+line, strings.NewReader(body)) }
		made := put("new", `{"family_id":"fam","individual":500,"qos":0}`)
		if l := decode[Line](t, made); made.code != http.StatusCreated || !l.Open {
			t.Fatalf("%d %s", made.code, made.body)
		}
		got := s.send("POST", "/v1/usage?wait=true", strings.NewReader(event("e", "new", 600, time.Now())))
		if r := decode[Result](t, got); got.code != http.StatusOK || r.Decided.Individual != 500 || r.Decided.Shared != 100 {
			t.Errorf("%d %s", got.code, got.body)
		}
		s.want("plan", put("new", `{"individual":900,"qos":5}`), http.StatusOK, "")
		moved := put("new", `{"family_id":"other","individual":900,"qos":5}`)
		if l := decode[Line](t, moved); moved.code != http.StatusOK || l.Family != "other" || s.left("new") != 0 {
			t.Errorf("moved: %d %s", moved.code, moved.body)
		}
		s.want("no family", put("new", `{"family_id":"nobody","individual":1,"qos":1}`), http.StatusUnprocessableEntity, ProblemLineRefused)
		s.want("no plan", put("new", `{"individual":1}`), http.StatusBadRequest, ProblemRequestMalformed)
		s.want("plan of nothing", put("new", `{"individual":null,"qos":5}`), http.StatusBadRequest, ProblemRequestMalformed)
		s.want("family of nothing", put("new", `{"family_id":null,"individual":1,"qos":1}`), http.StatusBadRequest, ProblemRequestMalformed)
		s.want("no id", put("a%20b", `{"individual":1,"qos":1}`), http.StatusBadRequest, ProblemRequestMalformed)
		s.must(s.parts.Ledger.HoldFolds(t.Context(), "session", 1, "a test"))
		s.want("restore", put("new", `{"family_id":"fam","individual":1,"qos":1}`), http.StatusConflict, ProblemHeldByRestore)
		s.must(s.parts.Ledger.ReleaseFolds(t.Context(), "session", 1))
		s.want("given up", put("new", `{"family_id":"other","individual":900,"qos":5}`), http.StatusOK, "")
		s.want("its unit is open", s.send("POST", "/v1/usage?wait=true", strings.NewReader(event("e-2", "new", 1, time.Now()))), http.StatusOK, "")
		s.want("family", s.send("GET", "/v1/families/fam?month=202601", nil), http.StatusOK, "")
		s.want("no such family", s.send("GET", "/v1/families/nobody", nil), http.StatusNotFound, ProblemNotFound)
		s.want("no month", s.send("GET", "/v1/families/fam?month=2026", nil), http.StatusBadRequest, ProblemRequestMalformed)
	})
}

// Policies are versions: who has not seen the current one changes nothing.
func TestPolicies(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, s *site) {
		s.work()
		put := func(id, body string, header ...string) reply {
			return s.send("PUT", "/v1/policies/"+id, strings.NewReader(body), header...)
		}
		first := s.send("GET", "/v1/policies/3", nil)
		if first.header.Get("ETag") != `"1"` {
			t.Errorf("%v %s", first.header, first.body)
		}
		s.want("capped", put("3", `{"settings":{"cap":"100"}}`, `If-Match: "1"`), http.StatusOK, "")
		s.want("the same again", put("3", `{"settings":{"cap":"100"},"version":1}`), http.StatusOK, "")
		s.want("not seen", put("3", `{"settings":{"cap":"200"},"version":1}`), http.StatusPreconditionFailed, ProblemVersionConflict)
		s.want("no version", put("3", `{"settings":{}}`), http.StatusPreconditionRequired, ProblemVersionMissing)
		s.want("two versions", put("3", `{"settings":{},"version":2}`, `If-Match: "1"`), http.StatusBadRequest, ProblemRequestMalformed)
		s.want("no settings", put("3", `{"version":2}`), http.StatusBadRequest, ProblemRequestMalformed)
		for _, bad := range []string{`{"cap":"-1"}`, `{"cap":"1.5"}`, `{"limit":"1"}`, `{"cap":""}`} {
			s.want(bad, put("3", `{"version":2,"settings":`+bad+`}`), http.StatusUnprocessableEntity, ProblemPolicyRefused)
		}
		s.want("a setting twice", put("3", `{"version":2,"settings":{"cap":"5","cap":"none"}}`), http.StatusBadRequest, ProblemRequestMalformed)
		s.want("gate", put("8", `{"version":2,"settings":{"open":"no"}}`), http.StatusConflict, ProblemGateManaged)
		s.want("ninth", put("9", `{"version":0,"settings":{}}`), http.StatusNotFound, ProblemNotFound)
		s.want("nobody's", s.send("GET", "/v1/policies/3?line=nobody", nil), http.StatusNotFound, ProblemNotFound)
		s.want("that of what is no id", s.send("GET", "/v1/policies/3?line=%00", nil), http.StatusNotFound, ProblemNotFound)
		s.want("the line's own", put("3?line=c", `{"version":0,"settings":{"cap":"250"}}`), http.StatusOK, "")
		if own := decode[Policy](t, s.send("GET", "/v1/policies/3?line=c", nil)); own.Version != 1 || own.Settings["cap"] != "250" || own.Line != "c" {
			t.Errorf("%+v", own)
		}
		for line, served := range map[string]int64{"c": 250, "d": 100} {
			got := s.send("POST", "/v1/usage?wait=true", strings.NewReader(event("e", line, 600, time.Now())))
			if r := decode[Result](t, got); got.code != http.StatusOK || r.Decided.Individual != served || r.Decided.Blocked != 600-served {
				t.Errorf("%s: %d %s", line, got.code, got.body)
			}
		}
	})
}

// Every route, status and type of problem of openapi.json is answered, and no other. What the other tests see of it is seen
// here once more.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Postgres(t).Database(t))
	s.work()
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/lines/a", "/v1/lines/nobody", "/v1/lines/a?month=1", "/v1/families/fam", "/v1/families/nobody", "/v1/families/fam?month=1", "/v1/policies/1", "/v1/policies/9"} {
		s.send("GET", path, nil)
	}
	s.parts.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "") })
	s.serve()
	s.send("GET", "/metrics", nil)
	s.want("method", s.send("DELETE", "/v1/lines/a", nil), http.StatusMethodNotAllowed, ProblemMethodNotAllowed)
	s.want("path", s.send("GET", "/v2", nil), http.StatusNotFound, ProblemNotFound)
	s.changes(time.Now())
	s.everywhere(t)
	s.closeGate()
	s.send("POST", "/v1/usage", strings.NewReader(event("e-9", "c", 1, time.Now())))
	s.grant("c", "late", fmt.Sprintf(`{"month":%d,"individual":1}`, s.parts.Inspector.Calendar.Month(time.Now())))
	s.service.Drain()
	s.send("GET", "/readyz", nil)
	s.must(s.parts.Ledger.Close())
	s.parts.Directory.Forget("c")
	s.each(func(method, path, body string) { s.send(method, path, strings.NewReader(body), keyLine+"k") })
	s.parts.Intake.Durable = true
	s.send("POST", "/v1/usage", strings.NewReader(event("e-8", "c", 1, time.Now())))
	for _, path := range []string{"/v1/lines/a", "/v1/families/fam", "/v1/policies/1"} {
		s.want(path, s.send("GET", path, nil), http.StatusServiceUnavailable, "store-unavailable")
	}
	for _, where := range s.answers.missing() {
		if !strings.HasSuffix(where, "store-lost") && !strings.HasSuffix(where, "not-confirmed") { // TestProblems has these
			t.Errorf("nothing was answered with %s", where)
		}
	}
}

// changes sends what is accepted, and what is refused for its content.
func (s *site) changes(now time.Time) {
	month := s.parts.Inspector.Calendar.Month(now)
	body := fmt.Sprintf(`{"month":%d,"individual":1}`, month)
	usage := func(query, text string) { s.send("POST", "/v1/usage"+query, strings.NewReader(text)) }
	usage("?wait=true", event("e-1", "c", 1, now))
	usage("", event("e-2", "c", 1, now))
	usage("", "{}")
	usage("?wait=x", "{}")
	s.grant("c", "k", body)
	s.grant("c", "k", body)
	s.grant("c", "k", fmt.Sprintf(`{"month":%d,"individual":2}`, month))
	s.grant("c", "l", fmt.Sprintf(`{"month":%d}`, month))
	s.grant("nobody", "k", body)
	s.grant("c", "a b", body)
	s.grant("c", "k", "{")
	s.send("POST", "/v1/lines/c/grants", strings.NewReader(body))
	line := func(id, text string) { s.send("PUT", "/v1/lines/"+id, strings.NewReader(text)) }
	line("z", `{"individual":1,"qos":1}`)
	line("z", `{"individual":1,"qos":1}`)
	line("z", `{"individual":-1,"qos":1}`)
	line("z", `{`)
	s.must(s.parts.Ledger.HoldFolds(s.t.Context(), "session", 1, "a test"))
	line("z", `{"family_id":"fam","individual":1,"qos":1}`)
	s.must(s.parts.Ledger.ReleaseFolds(s.t.Context(), "session", 1))
	policy := func(id, text string) { s.send("PUT", "/v1/policies/"+id, strings.NewReader(text)) }
	policy("1", `{"version":1,"settings":{"blocked":"no"}}`)
	policy("1", `{"version":1,"settings":{"blocked":"yes"}}`)
	policy("1", `{"version":2,"settings":{"blocked":"perhaps"}}`)
	policy("1", `{"settings":{}}`)
	policy("1", `{}`)
	policy("8", `{}`)
	policy("9", `{}`)
	s.unfinished()
	full, err := s.parts.Meter.OpenStreams(s.t.Context(), 0)
	s.must(err)
	before := s.parts.Intake.Streams
	s.parts.Intake.Streams = full
	usage("", event("e-3", "c", 1, now))
	s.parts.Intake.Streams = before
}

// unfinished moves a line whose last change is not in SQL.
func (s *site) unfinished() {
	known, err := s.parts.Ledger.Lines(s.t.Context(), []string{"d"})
	s.must(err)
	e := meter.Event{ID: "no-row", Line: "d", App: "video", Bytes: 1, At: time.Now().Truncate(time.Microsecond)}
	d := meterredis.Delivery{Event: e, Family: known["d"].Family}
	checks, err := s.parts.Meter.Checks(s.t.Context(), []meterredis.Delivery{d})
	s.must(err)
	d.Checked = checks[0]
	_, err = s.parts.Meter.Deduct(s.t.Context(), d)
	s.must(err)
	s.parts.MaxWait = time.Second
	s.serve()
	s.want("a move", s.send("PUT", "/v1/lines/d", strings.NewReader(`{"family_id":"fam","individual":1,"qos":1}`)), http.StatusConflict, ProblemMoveUnfinished)
	s.parts.MaxWait = 20 * time.Second
	s.serve()
}

// each calls do with a request of each route that changes something.
func (s *site) each(do func(method, path, body string)) {
	do("POST", "/v1/usage", event("e-7", "c", 1, time.Now()))
	do("PUT", "/v1/lines/c", `{"individual":1,"qos":1}`)
	do("POST", "/v1/lines/c/grants", `{"month":202601,"individual":1}`)
	do("PUT", "/v1/policies/1", `{"version":1,"settings":{}}`)
}

// everywhere sends what every route refuses that changes something, and what a token keeps out.
func (s *site) everywhere(t *testing.T) {
	const isJSON = "Content-Type: application/json"
	s.each(func(method, path, _ string) {
		s.want(path, s.send(method, path, strings.NewReader("x"), "Content-Type: text/csv", keyLine+"k"), http.StatusUnsupportedMediaType, ProblemMediaType)
		s.want(path, s.send(method, path, strings.NewReader(strings.Repeat(" ", 5<<20)), isJSON, keyLine+"k"), http.StatusRequestEntityTooLarge, "body-too-large")
		s.want(path, s.send(method, path, broken{}, isJSON, keyLine+"k"), http.StatusBadRequest, "body-incomplete")
		s.want(path, s.send(method, path, strings.NewReader("{}"), isJSON, "Origin: http://elsewhere.example", "Sec-Fetch-Site: cross-site"), http.StatusForbidden, ProblemCrossOrigin)
	})
	s.parts.Token = "sesame"
	s.serve()
	keptOut := func(method, path, body string) {
		s.want(path, s.send(method, path, strings.NewReader(body), "Authorization: Bearer open"), http.StatusUnauthorized, ProblemUnauthorized)
	}
	s.each(keptOut)
	for _, path := range []string{"/v1/lines/a", "/v1/families/fam", "/v1/policies/1"} {
		keptOut("GET", path, "")
		if got := s.send("GET", path, nil, "Authorization: Bearer sesame"); got.code != http.StatusOK {
			t.Errorf("%s with the token: %d", path, got.code)
		}
	}
	s.parts.Token = ""
	s.serve()
}
