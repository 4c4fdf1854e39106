package httpguard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// ProblemPrefix stands before the type of every problem.
const ProblemPrefix = "urn:reprise:problem:"

// Types of problems, without the prefix.
const (
	ProblemKeyMissing           = "key-missing"
	ProblemKeyMalformed         = "key-malformed"
	ProblemKeyReused            = "key-reused"
	ProblemPrincipalMissing     = "principal-missing"
	ProblemPrincipalInvalid     = "principal-invalid"
	ProblemPrincipalUnavailable = "principal-unavailable"
	ProblemBodyTooLarge         = "body-too-large"
	ProblemBodyIncomplete       = "body-incomplete"
	ProblemInProgress           = "in-progress"
	ProblemOutcomeUnknown       = "outcome-unknown"
	ProblemAnswerExpired        = "answer-expired"
	ProblemAnswerNotKept        = "answer-not-kept"
	ProblemAnswerIncompatible   = "answer-incompatible"
	ProblemRecordUnreadable     = "record-unreadable"
	ProblemStoreUnavailable     = "store-unavailable"
	ProblemStoreLost            = "store-lost"
	ProblemMisconfigured        = "misconfigured"
	ProblemUpstreamUnreachable  = "upstream-unreachable"
	ProblemUpstreamNoAnswer     = "upstream-no-answer"
)

// Problem is an answer that says why there is no other (RFC 9457).
type Problem struct {
	// Type is one of the constants above.
	Type string
	// Status and Title are those of the type when they are zero.
	Status int
	Title  string
	// Detail says what to do next.
	Detail string
	// RetryAfter is when to ask again. It is sent in whole seconds, rounded up and at least one; zero
	// sends nothing.
	RetryAfter time.Duration
	// Verdict is what a guard in front is told ([HeaderNoEffect]). Zero is what the type means; types that are none of the
	// constants mean nothing by themselves.
	Verdict Verdict
	// Extensions are further members of the document.
	Extensions map[string]any
}

// problemKind is a type of problem, with its status and title.
type problemKind struct {
	name   string
	status int
	title  string
	// effect is what a guard in front of who says this is told: done nothing, and it may do something when it is sent again; or
	// nobody knows. It would keep the answer for good otherwise, or go by a status that anybody says.
	effect effect
}

// effect is a value of [HeaderNoEffect], none where the answer is the last word on its key.
type effect string

const (
	lastWord effect = ""
	undone   effect = "true"
	unknown  effect = "false"
)

// problemKinds are all types. Other packages get them from [ProblemTypes].
var problemKinds = [...]problemKind{
	{ProblemKeyMissing, http.StatusBadRequest, "An idempotency key is required", undone},
	{ProblemKeyMalformed, http.StatusBadRequest, "The idempotency key is malformed", undone},
	{ProblemKeyReused, http.StatusUnprocessableEntity, "The idempotency key was used for another request", undone},
	{ProblemPrincipalMissing, http.StatusBadRequest, "The request does not say who sends it", undone},
	{ProblemPrincipalInvalid, http.StatusUnauthorized, "The credentials are not valid", undone},
	{ProblemPrincipalUnavailable, http.StatusServiceUnavailable, "The credentials cannot be checked now", undone},
	{ProblemBodyTooLarge, http.StatusRequestEntityTooLarge, "The request body is too large", undone},
	{ProblemBodyIncomplete, http.StatusBadRequest, "The request body is incomplete", undone},
	{ProblemInProgress, http.StatusConflict, "The first request with this key is still running", undone},
	{ProblemOutcomeUnknown, http.StatusConflict, "Nobody knows whether the request took effect", unknown},
	{ProblemAnswerExpired, http.StatusGone, "The request was answered before, and the answer has expired", lastWord},
	{ProblemAnswerNotKept, http.StatusGone, "The request was answered before, and the answer was not kept", lastWord},
	{ProblemAnswerIncompatible, http.StatusConflict, "The request was answered before, in a form that this version cannot read", lastWord},
	{ProblemRecordUnreadable, http.StatusConflict, "The record of this key cannot be read", undone},
	{ProblemStoreUnavailable, http.StatusServiceUnavailable, "The record of this key cannot be asked for now", undone},
	{ProblemStoreLost, http.StatusServiceUnavailable, "The records were lost, and requests are refused until that is settled", undone},
	{ProblemMisconfigured, http.StatusInternalServerError, "The server is misconfigured", undone},
	{ProblemUpstreamUnreachable, http.StatusBadGateway, "The upstream could not be reached; nothing was sent to it", undone},
	{ProblemUpstreamNoAnswer, http.StatusGatewayTimeout, "The request was sent to the upstream, and no usable answer came", unknown},
}

// ProblemTypes returns the types of problems, without the prefix: those whose status can be changed.
func ProblemTypes() []string {
	names := make([]string, len(problemKinds))
	for i, kind := range problemKinds {
		names[i] = kind.name
	}
	return names
}

// kindOf returns the status and title of a type of problem.
func kindOf(name string) (problemKind, bool) {
	for _, kind := range problemKinds {
		if kind.name == name {
			return kind, true
		}
	}
	return problemKind{}, false
}

// checkStatuses reports what is wrong with overrides of statuses.
func checkStatuses(statuses map[string]int) error {
	for name, status := range statuses {
		if _, ok := kindOf(name); !ok {
			return fmt.Errorf("httpguard: Options.Statuses: there is no problem type %q", name)
		}
		if status < 400 || status > 599 {
			return fmt.Errorf("httpguard: Options.Statuses: %d for %q is not an error status (400 to 599)", status, name)
		}
	}
	return nil
}

// effect is what a guard in front is told of the problem.
func (p Problem) effect() effect {
	kind, _ := kindOf(p.Type)
	switch {
	case p.Verdict != 0:
		return p.Verdict.effect()
	case p.Type == ProblemOutcomeUnknown && p.RetryAfter > 0:
		return undone // sent again it finds out, as it does with one that is in progress
	}
	return kind.effect
}

// WriteProblem writes a problem as the answer. A guard in front is told what that means for its key.
func WriteProblem(w http.ResponseWriter, p Problem) {
	kind, _ := kindOf(p.Type)
	if p.Status == 0 {
		p.Status = kind.status
	}
	if p.Title == "" {
		p.Title = kind.title
	}
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	header.Del("Content-Encoding")
	if p.RetryAfter > 0 {
		seconds := (p.RetryAfter + time.Second - 1) / time.Second
		header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	if said := p.effect(); said != lastWord {
		header.Set(HeaderNoEffect, string(said))
	}
	body := p.document()
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// document returns the problem as JSON: the members of RFC 9457, then the extensions by name.
func (p Problem) document() []byte {
	document, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail,omitempty"`
	}{ProblemPrefix + p.Type, p.Title, p.Status, p.Detail})
	if err != nil {
		return []byte("{}") // texts and a number are always JSON
	}
	extensions := maps.Clone(p.Extensions)
	for _, name := range []string{"type", "title", "status", "detail"} {
		delete(extensions, name)
	}
	if more, err := json.Marshal(extensions); err == nil && len(extensions) > 0 {
		document = append(append(document[:len(document)-1], ','), more[1:]...)
	}
	return append(document, '\n')
}
