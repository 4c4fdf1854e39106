package meterhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// What can be wrong with an event is refused, with reason and field, and nothing of it counts.
func TestBadEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Postgres(t).Database(t))
	now := time.Now()
	good := event("e-1", "c", 5, now)
	replaced := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for what, c := range map[string]struct {
		body   string
		reason meter.Reason
		field  string
	}{
		"no JSON":               {`{"event_id"`, meter.Malformed, ""},
		"an array":              {"[" + good + "]", meter.Malformed, ""},
		"two events":            {good + good, meter.Malformed, ""},
		"unknown line":          {event("e", "nobody", 5, now), meter.UnknownLine, "line_id"},
		"unknown app":           {replaced(`"video"`, `"films"`), meter.UnknownApp, "app_id"},
		"negative":              {replaced(":5,", ":-5,"), meter.BadBytes, "bytes"},
		"zero":                  {replaced(":5,", ":0,"), meter.BadBytes, "bytes"},
		"fraction":              {replaced(":5,", ":5.5,"), meter.BadBytes, "bytes"},
		"2^63":                  {replaced(":5,", ":9223372036854775808,"), meter.BadBytes, "bytes"},
		"bytes as a text":       {replaced(":5,", `:"5",`), meter.WrongType, "bytes"},
		"bytes are nothing":     {replaced(":5,", `:null,`), meter.WrongType, "bytes"},
		"from the future":       {event("e", "c", 5, now.Add(2*time.Hour)), meter.InFuture, "occurred_at"},
		"older than accepted":   {event("e", "c", 5, now.Add(-49*time.Hour)), meter.TooOld, "occurred_at"},
		"without a field":       {replaced(`"app_id":"video",`, ""), meter.MissingField, "app_id"},
		"a field more":          {replaced("{", `{"x":1,`), meter.UnknownField, ""},
		"a field twice":         {replaced("{", `{"bytes":5,`), meter.DuplicateField, "bytes"},
		"an id with a space":    {replaced(`"c"`, `"c c"`), meter.BadID, "line_id"},
		"more than an event is": {replaced("{", "{"+strings.Repeat(" ", 5000)), meter.TooLarge, ""},
	} {
		got := s.send("POST", "/v1/usage", strings.NewReader(c.body))
		s.want(what, got, http.StatusUnprocessableEntity, ProblemEventRefused)
		p := decode[struct {
			Reason        meter.Reason
			Field, Detail string
		}](t, got)
		if p.Reason != c.reason || p.Field != c.field || p.Detail == "" {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	if n, err := s.parts.Intake.Streams.Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d events were taken in, %v", n, err)
	}
}

// A line that is malformed refuses itself alone, duplicates count once, and the answer has a result for each line.
func TestNDJSON(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, s *site) {
		s.work()
		now := time.Now()
		other := event("e-1", "c", 8, now)
		body := strings.Join([]string{event("e-1", "c", 300, now), `{"event_id"`, "", event("e-1", "a", 700, now), event("e-1", "c", 300, now), event("e-2", "nobody", 1, now)}, "\n") + "\r\n"
		results := s.lines(s.send("POST", "/v1/usage?wait=true", strings.NewReader(body), "Content-Type: application/x-ndjson"), http.StatusOK)
		want := []string{`1 true true 300`, `2 false malformed`, `4 true true 700`, `5 true true 300`, `6 false unknown_line`}
		for i, r := range results {
			got := fmt.Sprint(r.Line, r.Accepted)
			if r.Problem != nil {
				got += " " + string(r.Problem.Reason)
			} else {
				got = fmt.Sprint(r.Line, r.Accepted, r.Durable, r.Decided.Individual)
			}
			if strings.ReplaceAll(want[i], " ", "") != strings.ReplaceAll(got, " ", "") {
				t.Errorf("result %d: %s, want %s", i, got, want[i])
			}
		}
		if len(results) != len(want) {
			t.Errorf("%d results", len(results))
		}
		single := s.send("POST", "/v1/usage?wait=true", strings.NewReader(event("e-1", "c", 300, now)), "Content-Type: application/json; charset=utf-8")
		if r := decode[Result](t, single); single.code != http.StatusOK || !r.Durable || r.Decided == nil || r.Decided.Version != 1 {
			t.Errorf("again: %d %s", single.code, single.body)
		}
		got := s.send("POST", "/v1/usage?wait=true", strings.NewReader(other))
		if s.want("other content", got, http.StatusUnprocessableEntity, ProblemEventRefused); !strings.Contains(got.body, string(meter.OtherContent)) {
			t.Errorf("other content: %s", got.body)
		}
		status := decode[struct {
			Decides bool
			SQL     struct{ Left struct{ Individual int64 } }
			Redis   struct {
				Left struct{ Individual, Shared int64 }
			}
		}](t, s.send("GET", "/v1/lines/c", nil))
		if !status.Decides || status.SQL.Left.Individual != 700 || status.Redis.Left.Individual != 700 {
			t.Errorf("%+v", status)
		}
		s.durable(now)
	})
}

// durable: with durable intake events are in SQL when the answer leaves, and behind a closed gate too.
func (s *site) durable(now time.Time) {
	s.t.Helper()
	s.closeGate()
	s.want("closed gate", s.send("POST", "/v1/usage", strings.NewReader(event("e-3", "c", 1, now))), http.StatusServiceUnavailable, ProblemGateClosed)
	durable := *s.parts.Intake
	durable.Durable = true
	s.parts.Intake = &durable
	s.serve()
	got := s.send("POST", "/v1/usage", strings.NewReader(event("e-3", "c", 1, now)))
	if r := decode[Result](s.t, got); got.code != http.StatusAccepted || !r.Durable || !r.Accepted {
		s.t.Errorf("durable: %d %s", got.code, got.body)
	}
}

// closeGate closes policy 8, as a restore does.
func (s *site) closeGate() {
	s.t.Helper()
	policies, err := s.parts.Ledger.Policies(s.t.Context(), nil)
	s.must(err)
	closed, err := s.parts.Ledger.PutPolicy(s.t.Context(), "", meter.Gate, policies.Global.Get(meter.Gate).Version(), []meter.Field{{Name: "open", Value: "no"}}, "test")
	s.must(err)
	s.must(s.parts.Meter.PutPolicy(s.t.Context(), closed))
	for s.parts.Meter.GateOpen(s.t.Context()) == nil { // what it remembers of a moment ago
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.t.Context().Done():
			s.t.FailNow()
		}
	}
}

func (s *site) lines(r reply, code int) (all []Result) {
	s.t.Helper()
	if r.code != code || r.header.Get("Content-Type") != typeNDJSON {
		s.t.Errorf("%d %v %s", r.code, r.header, r.body)
	}
	for text := range strings.Lines(r.body) {
		var result Result
		s.must(json.Unmarshal([]byte(text), &result))
		all = append(all, result)
	}
	return all
}

// A stream that is full takes nothing in and says so, and who waits in vain is told that the event was taken in.
func TestFullStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Postgres(t).Database(t))
	streams, err := s.parts.Meter.OpenStreams(t.Context(), 2)
	s.must(err)
	s.parts.Intake.Streams = streams
	s.parts.MaxWait = 50 * time.Millisecond
	s.serve()
	now := time.Now()
	first := s.send("POST", "/v1/usage?wait=true", strings.NewReader(event("e-1", "c", 1, now)))
	if r := decode[Result](t, first); first.code != http.StatusAccepted || !r.Accepted || r.Durable {
		t.Errorf("nobody works: %d %s", first.code, first.body)
	}
	s.want("second", s.send("POST", "/v1/usage", strings.NewReader(event("e-2", "c", 1, now))), http.StatusAccepted, "")
	s.want("third", s.send("POST", "/v1/usage", strings.NewReader(event("e-3", "c", 1, now))), http.StatusTooManyRequests, ProblemIntakeFull)
	full := event("e-3", "c", 1, now) + "\n" + event("e-4", "c", 1, now)
	s.want("all lines", s.send("POST", "/v1/usage", strings.NewReader(full), "Content-Type: application/x-ndjson"), http.StatusTooManyRequests, ProblemIntakeFull)
	s.want("no lines", s.send("POST", "/v1/usage", strings.NewReader("\n\n"), "Content-Type: application/x-ndjson"), http.StatusBadRequest, ProblemRequestMalformed)
	s.want("neither", s.send("POST", "/v1/usage?wait=perhaps", strings.NewReader(full)), http.StatusBadRequest, ProblemRequestMalformed)
	s.want("XML", s.send("POST", "/v1/usage", strings.NewReader("<event/>"), "Content-Type: application/xml"), http.StatusUnsupportedMediaType, ProblemMediaType)
	many := strings.Repeat("{}\n", maxLines+1)
	s.want("too many", s.send("POST", "/v1/usage", strings.NewReader(many), "Content-Type: application/x-ndjson"), http.StatusRequestEntityTooLarge, "body-too-large")
}
