package httpguard

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise"
)

// answer gives the client what came of the request.
func (x *exchange) answer(outcome reprise.Outcome, err error, event *Event) {
	c := &x.recorder
	event.Unrecorded = outcome.Ran && !outcome.Recorded
	if c.passed {
		c.sendTrailers()
		event.Outcome = ranOutcome(err)
		return
	}
	var verdict *verdictError
	switch {
	case outcome.Ran && (err == nil || errors.As(err, &verdict)):
		// What the handler said about its answer is in the error; the answer is for the client all the same.
		event.Outcome = ranOutcome(err)
		c.send(outcome.Recorded)
		return
	case outcome.Replayed:
		if x.replay(outcome) == nil {
			event.Outcome = OutcomeReplayed
			return
		}
		err = &reprise.Error{Kind: reprise.ErrIncompatible, Digest: outcome.Digest}
	case x.failsOpen(outcome, err):
		event.Outcome = OutcomeFailedOpen
		x.middleware.options.Log.Warn("httpguard: the store cannot be asked; running unguarded", "operation", event.Operation, "error", err)
		c.out.Header().Set(HeaderRecorded, "false")
		x.next.ServeHTTP(c.out, x.replayable(x.request.Context()))
		return
	}
	c.withdraw()
	problem, fault := refusal(err)
	if fault {
		x.middleware.options.Log.Error("httpguard: refused", "operation", event.Operation, "problem", problem.Type, "error", err)
	}
	x.middleware.problem(c.out, problem, event)
}

// ranOutcome names what came of a handler that ran, by the guard's error.
func ranOutcome(err error) string {
	switch {
	case err == nil:
		return OutcomeFresh
	case errors.Is(err, reprise.ErrNoEffect):
		return OutcomeNoEffect
	}
	return OutcomeUnknown
}

// failsOpen reports whether the request is to run unguarded. A store that has lost its data is not
// failed open: what it forgot may have been done. Nor is one that answers, and makes no record: somebody else may have one.
func (x *exchange) failsOpen(outcome reprise.Outcome, err error) bool {
	var failure *reprise.Error
	return x.middleware.options.FailOpen && !outcome.Ran && errors.As(err, &failure) && failure.Kind == reprise.ErrUnavailable
}

// send gives the handler's own answer, with all its headers.
func (c *recorder) send(recorded bool) {
	header := c.out.Header()
	if !recorded {
		header.Set(HeaderRecorded, "false")
	}
	c.tell()
	c.options.leaveUntyped(header)
	body := c.body.Bytes()
	if c.declared < 0 && !c.bodyless && bodyAllowed(c.status) && !c.trails() {
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	c.out.WriteHeader(c.status)
	if len(body) > 0 {
		_, _ = c.out.Write(body) // a client that is gone does not change what was recorded
	}
	c.sendTrailers()
}

// leaveUntyped keeps net/http from guessing the type of an upstream's answer that has none.
func (o *Options) leaveUntyped(header http.Header) {
	if _, typed := header["Content-Type"]; o.Upstream && !typed {
		header["Content-Type"] = nil
	}
}

// trails reports whether the handler's answer has trailers, so that it cannot have a length.
func (c *recorder) trails() bool {
	if len(c.header["Trailer"]) > 0 {
		return true
	}
	for name := range c.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// sendTrailers gives what the handler set after the first byte and announced as trailers. Trailers are
// not recorded.
func (c *recorder) sendTrailers() {
	if !c.trails() {
		return
	}
	header := c.out.Header()
	for _, name := range announced(c.header) {
		if values, ok := c.header[name]; ok {
			header[name] = values
		}
	}
	for name, values := range c.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			header[name] = values
		}
	}
}

// withdraw takes back what the handler's answer put into the headers.
func (c *recorder) withdraw() {
	if c.status != 0 {
		replaceHeader(c.out.Header(), c.outer)
	}
}

// replay gives the recorded answer.
func (x *exchange) replay(outcome reprise.Outcome) error {
	answer, err := ReadAnswer(outcome.Response)
	if err != nil {
		return err
	}
	x.recorder.withdraw()
	header := x.recorder.out.Header()
	for name, values := range answer.Header {
		if i := slices.Index(x.recorder.private.names, name); i >= 0 && len(values) == 0 {
			values = x.recorder.private.lines[i] // the first answer had its request's
		}
		header[name] = values
	}
	x.middleware.options.leaveUntyped(header)
	header[HeaderReplayed] = []string{"true"}
	if !outcome.StoredAt.IsZero() {
		header[HeaderStoredAt] = []string{outcome.StoredAt.UTC().Format(time.RFC3339)}
	}
	if x.request.Method != http.MethodHead && bodyAllowed(answer.Status) {
		header["Content-Length"] = []string{strconv.Itoa(len(answer.Body))}
	}
	x.recorder.out.WriteHeader(answer.Status)
	if len(answer.Body) > 0 {
		_, _ = x.recorder.out.Write(answer.Body)
	}
	return nil
}
