package meterhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/meter"
)

// maxLines is how many lines a request may have.
const maxLines = 10_000

// Result says what became of a line of input.
type Result struct {
	Line     int    `json:"line"`
	EventID  string `json:"event_id,omitempty"`
	LineID   string `json:"line_id,omitempty"`
	Accepted bool   `json:"accepted"`
	// Durable says that the event is in SQL.
	Durable bool `json:"durable"`
	// Decided is there if it was waited for.
	Decided *Decided     `json:"decided,omitempty"`
	Problem *LineProblem `json:"problem,omitempty"`
}

// Decided is what was decided, when its row is committed.
type Decided struct {
	Individual int64            `json:"individual"`
	Shared     int64            `json:"shared"`
	QoS        int64            `json:"qos"`
	Blocked    int64            `json:"blocked"`
	Uncounted  int64            `json:"uncounted"`
	Why        []string         `json:"why,omitempty"`
	Speed      int64            `json:"speed_kbit,omitempty"`
	Day        meter.Day        `json:"day"`
	Month      meter.Month      `json:"month"`
	Family     string           `json:"family_id,omitempty"`
	Generation meter.Generation `json:"generation"`
	Version    int64            `json:"line_version"`
}

// LineProblem is a problem of one line of input.
type LineProblem struct {
	Type   string       `json:"type"`
	Status int          `json:"status"`
	Reason meter.Reason `json:"reason,omitempty"`
	Field  string       `json:"field,omitempty"`
	Detail string       `json:"detail"`
}

// line is a line of input on its way.
type line struct {
	Result
	event   meter.Event
	problem httpguard.Problem // set if it was not accepted
	late    bool              // it was waited for, and is not decided yet
}

// usage takes in events.
func (s *Service) usage(w http.ResponseWriter, r *http.Request) {
	wait := r.URL.Query().Get("wait")
	if wait != "" && wait != "true" && wait != "false" {
		fail(w, problem(ProblemRequestMalformed, "wait: write true or false"))
		return
	}
	kind := mediaType(r)
	if kind != typeJSON && kind != typeNDJSON {
		fail(w, problem(ProblemMediaType, "Send one event as "+typeJSON+", or one a line as "+typeNDJSON+"."))
		return
	}
	body, ok := s.read(w, r)
	if !ok {
		return
	}
	lines := []*line{{Result: Result{Line: 1}}}
	if kind == typeNDJSON {
		if lines = split(body); len(lines) > maxLines {
			fail(w, problem(httpguard.ProblemBodyTooLarge, fmt.Sprintf("At most %d lines are read: send less at once.", maxLines)))
			return
		}
	} else {
		lines[0].decode(body)
	}
	if len(lines) == 0 {
		fail(w, problem(ProblemRequestMalformed, "There is no event in the body."))
		return
	}
	if err := s.take(r.Context(), lines); err != nil {
		s.counted.refuse(r.Context(), problemOf(err, ProblemEventRefused).Type, len(lines))
		s.failWith(w, r, err, ProblemEventRefused)
		return
	}
	if wait == "true" {
		s.await(r.Context(), lines)
	}
	s.counted.count(r.Context(), lines)
	s.tell(w, lines, kind == typeNDJSON, wait == "true")
}

// split reads lines. Empty ones are left out, and counted.
func split(body []byte) (lines []*line) {
	number := 0
	for text := range bytes.Lines(body) {
		number++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			l := &line{Result: Result{Line: number}}
			l.decode(text)
			lines = append(lines, l)
		}
	}
	return lines
}

// decode reads an event, or notes why it is none.
func (l *line) decode(text []byte) {
	event, err := meter.DecodeEvent(text)
	if err != nil {
		l.refuse(err)
		return
	}
	l.event, l.EventID, l.LineID = event, event.ID, event.Line
}

func (l *line) refuse(err error) {
	p := problemOf(err, ProblemEventRefused)
	l.problem, l.Accepted, l.Durable = p, false, false
	l.Problem = &LineProblem{Type: httpguard.ProblemPrefix + p.Type, Status: p.Status, Detail: p.Detail}
	l.Problem.Reason, _ = p.Extensions["reason"].(meter.Reason)
	l.Problem.Field, _ = p.Extensions["field"].(string)
}

// take takes in the lines that are events. The error is one that all have in common.
func (s *Service) take(ctx context.Context, lines []*line) error {
	var events []meter.Event
	var of []*line
	for _, l := range lines {
		if l.Problem == nil {
			events, of = append(events, l.event), append(of, l)
		}
	}
	if len(events) == 0 {
		return nil
	}
	receipts, err := s.Intake.Accept(ctx, s.Now(), events)
	if err != nil {
		return err
	}
	for i, receipt := range receipts {
		if receipt.Err != nil {
			of[i].refuse(receipt.Err)
			continue
		}
		of[i].Accepted, of[i].Durable = true, receipt.Durable
	}
	return nil
}

// await waits for what was accepted to be decided, as long as is allowed.
func (s *Service) await(ctx context.Context, lines []*line) {
	ctx, cancel := context.WithTimeout(ctx, s.MaxWait)
	defer cancel()
	var events []meter.Event
	var of []*line
	for _, l := range lines {
		if l.Accepted {
			events, of = append(events, l.event), append(of, l)
		}
	}
	for i, awaited := range s.Intake.AwaitAll(ctx, events) {
		l := of[i]
		switch _, refusal := errors.AsType[*meter.Refusal](awaited.Err); {
		case awaited.Err == nil:
			l.Durable, l.Decided = true, decidedOf(awaited.Row.Result)
		case refusal:
			l.refuse(awaited.Err)
		default: // not yet, or SQL cannot be asked: it is taken in all the same
			l.late = true
		}
	}
}

func decidedOf(r meter.Result) *Decided {
	d := &Decided{
		Individual: r.Individual, Shared: r.Shared, QoS: r.QoS, Blocked: r.Blocked, Uncounted: r.Uncounted, Speed: r.Speed,
		Day: r.Day, Month: r.Month, Family: r.Family, Generation: r.Generation, Version: r.LineVersion,
	}
	if why := r.Why.String(); why != "" {
		d.Why = strings.Split(why, ",")
	}
	return d
}

// tell answers. Where no line was accepted and all for the same reason that passes, the answer has its status, so that whoever sends
// waits.
func (s *Service) tell(w http.ResponseWriter, lines []*line, many, waited bool) {
	if p, ok := common(lines); ok && (!many || p.RetryAfter > 0) {
		fail(w, p)
		return
	}
	status := http.StatusAccepted
	if waited && decided(lines) {
		status = http.StatusOK
	}
	if !many {
		answer(w, status, lines[0].Result)
		return
	}
	w.Header().Set("Content-Type", typeNDJSON)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	for _, l := range lines {
		_ = out.Encode(l.Result)
	}
}

// common returns the problem that all lines have.
func common(lines []*line) (httpguard.Problem, bool) {
	if len(lines) == 0 {
		return httpguard.Problem{}, false
	}
	for _, l := range lines {
		if l.Problem == nil || l.problem.Type != lines[0].problem.Type {
			return httpguard.Problem{}, false
		}
	}
	return lines[0].problem, true
}

// decided reports whether nothing that was accepted is still to be decided.
func decided(lines []*line) bool {
	for _, l := range lines {
		if l.late {
			return false
		}
	}
	return true
}
