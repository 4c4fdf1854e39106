package reprise

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/internal/redact"
	"github.com/reprise-dev/reprise/machine"
)

// Action does the work, once. Its context ends when the caller's does, and with the cause
// [ErrLeaseLost] when the key can no longer be shown to be held. What it returns decides the record:
//
//   - a response and no error: completed; the answer replays;
//   - an error wrapped by [NoEffect]: the key may be tried again;
//   - any other error, a panic: nobody knows whether the effect happened. The key waits until it is
//     settled. A response beside the error is kept as evidence.
type Action func(ctx context.Context, run *Run) (Response, error)

// Outcome is what came of a call.
type Outcome struct {
	// Response is the answer. When the action ran and failed, it is what the action returned beside
	// the error.
	Response Response
	// Replayed: the answer is that of an earlier run.
	Replayed bool
	// Ran: the action ran in this call, and Response is its own.
	Ran bool
	// Recorded: the record says what happened. False when the store did not confirm it in time; then
	// it is retried in the background while the process lives.
	Recorded bool
	// StoredAt is when the answer was recorded, on the store's clock; zero where that is not known.
	StoredAt time.Time
	// Attempt counts how often the key was held, from 1.
	Attempt uint32
	// Digest names the record, for operators.
	Digest machine.Digest
}

// Reasons that the guard gives for a record without an answer. After the first and the last of them stands what the action said.
const (
	reasonNoEffect = "no effect"
	reasonNotRun   = "not run"
	reasonPanic    = "panic"
	reasonError    = "error"
)

const maxErrorText = 512

// Do runs the action under the call's key, unless the key says otherwise. The action runs on the
// caller's goroutine; a panic in it is recorded as an unknown outcome and goes on.
//
// A nil error means that Outcome.Response is the answer. Otherwise the error is an [*Error]; see the
// table in the package comment. When the caller's context ends, the action's does, but what came of
// it is recorded all the same.
func (g *Guard) Do(ctx context.Context, call Call, action Action) (Outcome, error) {
	if !g.enter() {
		return Outcome{}, &Error{Kind: ErrClosed}
	}
	defer g.background.Done()
	if g.Unconfirmed() >= maxUnconfirmed {
		return Outcome{}, &Error{Kind: ErrUnavailable, Detail: "too many recordings are unconfirmed", RetryAfter: time.Second}
	}
	began := time.Now()
	r, d, err := g.acquire(ctx, call, began)
	if err == nil && d.Verdict == flow.Unknown && g.policy.Resolver != nil && g.resolve(ctx, r.digest()) {
		r, d, err = g.acquire(ctx, call, began)
	}
	switch {
	case err != nil:
		return Outcome{}, err
	case d.Verdict == flow.Undecided && d.Verb == flow.Run:
		return r.run(ctx, d, action)
	}
	defer r.finish(d)
	return r.outcome(ctx, d.Verdict)
}

// acquire claims the key, or finds out why it cannot be had. An invocation that turns out to be too old to
// make a record is prepared again, with what the store knows now.
func (g *Guard) acquire(ctx context.Context, call Call, began time.Time) (*Run, flow.Directive, error) {
	const tries = 3
	for try, now := 1, began; ; try, now = try+1, time.Now() {
		r := &Run{invocation: invocation{began: began}, call: call}
		if err := g.prepare(ctx, &r.prepared, &r.call, now); err != nil {
			return nil, flow.Directive{}, err
		}
		r.start(g)
		d := r.pursue(ctx, r.flow.Begin(r.now()))
		if d.Verdict != flow.Outdated || try == tries {
			return r, d, nil
		}
		if _, err := g.ring.refresh(ctx); err != nil {
			return nil, flow.Directive{}, err
		}
	}
}

// run runs the action, with the heartbeat beside it, and records what comes of it.
func (r *Run) run(ctx context.Context, d flow.Directive, action Action) (outcome Outcome, err error) {
	r.context.under(ctx)
	defer r.context.end()
	r.heart.run = r
	r.guard.pacemaker.schedule(&r.heart, r.began.Add(r.looked+d.For))
	returned := false
	defer func() {
		if !returned { // a panic, or the end of the goroutine: it goes on after this
			r.conclude(&r.context, Response{}, nil, reasonPanic)
		}
	}()
	response, cause := action(&r.context, r)
	returned = true
	return r.conclude(&r.context, response, readable(cause), "")
}

// readable returns an error that can be asked for its text. One that cannot, as a nil pointer of a type of errors, would keep what the action
// came to from being recorded.
func readable(cause error) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("the action returned an error of type %T whose text cannot be had", cause)
		}
	}()
	if cause != nil {
		_ = cause.Error()
	}
	return cause
}

// conclude stops the heartbeat and records what came of the action.
func (r *Run) conclude(ctx context.Context, response Response, cause error, reason string) (Outcome, error) {
	r.guard.pacemaker.stop(&r.heart)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.early != nil {
		return r.early.outcome, r.early.err
	}
	result := r.classify(response, cause, reason)
	return r.record(ctx, result, response, cause)
}

// classify turns what the action returned into what is recorded.
func (r *Run) classify(response Response, cause error, reason string) flow.Result {
	if cause == nil && reason == "" {
		r.response = r.guard.kept(response)
		return flow.Answered
	}
	if response.Codec != "" || response.Data != nil {
		r.response = r.guard.kept(response)
	}
	r.harmless = reason == "" && isNoEffect(cause)
	switch {
	case r.guard.policy.LateStart && !r.begun:
		// Nothing that cannot be undone begins before a late start has said so, whatever the error says.
		r.harmless, r.reason = true, reasonNotRun
		return flow.NoEffect
	case reason != "":
		r.reason = reason
	case r.harmless:
		r.reason = r.call.scrub(reasonNoEffect + ": " + cause.Error())
		return flow.NoEffect
	default:
		r.reason = r.call.scrub(reasonError + ": " + cause.Error())
	}
	return flow.Doubtful
}

// kept returns the response as it is recorded: whole, or as one that is not kept, where it is too large, or where no record can name its
// codec. That it was given is recorded all the same: a record that refused it would leave the key unknown.
func (g *Guard) kept(response Response) machine.Response {
	if len(response.Codec) > machine.MaxCodecName {
		g.policy.Log.Error("reprise: an answer is not kept: the name of its codec is too long", "codec", response.Codec[:machine.MaxCodecName], "limit", machine.MaxCodecName)
		response = Response{NotKept: true}
	}
	if len(response.Data) > g.policy.MaxKept {
		response.NotKept, response.Data = true, nil
	}
	return response.Record()
}

// record sends the result until it is confirmed, refused, or patience ends. Its context is its own: a
// caller that hangs up does not leave the record behind.
func (r *Run) record(ctx context.Context, result flow.Result, response Response, cause error) (Outcome, error) {
	d := r.pursue(context.WithoutCancel(ctx), r.flow.Finished(r.now(), result))
	defer r.finish(d)
	if d.Verdict != flow.Recorded && d.Verdict != flow.Unconfirmed {
		return r.outcome(ctx, d.Verdict)
	}
	attempt, _ := r.flow.Held()
	outcome := Outcome{Response: response, Ran: true, Recorded: d.Verdict == flow.Recorded, Attempt: attempt, Digest: r.digest()}
	if outcome.Recorded && !r.reply.Finished.IsZero() {
		outcome.StoredAt = r.reply.Finished.Time()
	}
	switch {
	case result == flow.NoEffect:
		return outcome, &Error{Kind: ErrNoEffect, Digest: outcome.Digest, Cause: cause}
	case result == flow.Doubtful:
		return outcome, &Error{Kind: ErrUnknown, Digest: outcome.Digest, Detail: r.reason, Cause: cause}
	}
	return outcome, nil
}

// scrub takes the raw key and principal out of a text that is to be stored.
func (c *Call) scrub(text string) string {
	// The longer one comes first: what is left of it without the other one would not be found.
	if len(c.Principal) > len(c.Key) {
		text = redact.Replace(text, c.Principal, "[principal]")
	}
	text = redact.Replace(text, c.Key, "[key]")
	text = redact.Replace(text, c.Principal, "[principal]")
	return cut(text, maxErrorText)
}

// cut returns the beginning of a text, which is a text still.
func cut(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

// outcome says a verdict in the words of this package.
func (v *invocation) outcome(ctx context.Context, verdict flow.Verdict) (Outcome, error) {
	outcome := Outcome{Digest: v.digest(), Attempt: v.reply.Attempt}
	fail := &Error{Digest: outcome.Digest, Detail: v.reply.Reason}
	if !v.reply.Finished.IsZero() {
		outcome.StoredAt = v.reply.Finished.Time()
		fail.StoredAt = outcome.StoredAt
	}
	switch verdict {
	case flow.Replayed:
		outcome.Response = responseOf(v.reply.Response)
		if !outcome.Response.NotKept {
			outcome.Replayed, outcome.Recorded = true, true
			return outcome, nil
		}
		fail.Kind, fail.Response = ErrNotKept, outcome.Response
		outcome.Response = Response{}
	case flow.Mismatch:
		fail.Kind = ErrMismatch
	case flow.Gone:
		fail.Kind = ErrExpired
	case flow.Incompatible:
		fail.Kind = ErrIncompatible
	case flow.InProgress:
		fail.Kind, fail.RetryAfter = ErrInProgress, max(0, v.reply.LeaseEnd.Sub(v.reply.At))
	case flow.Conflict, flow.Invalid:
		fail.Kind = ErrInvalid
		if fail.Detail == "" {
			fail.Detail = "Call.Resume: the owner token is in use for something else (" + v.reply.Outcome.String() + ")"
		}
	case flow.Lost:
		fail.Kind, fail.Cause = ErrLost, v.failure
	case flow.Corrupt:
		fail.Kind, fail.Cause = ErrCorrupt, v.failure
	case flow.Unavailable:
		fail.Kind, fail.Cause, fail.RetryAfter = ErrUnavailable, v.failure, time.Second
	case flow.Outdated:
		fail.Kind, fail.RetryAfter = ErrOutdated, time.Second
	case flow.Left:
		fail.Kind, fail.Cause = ErrUnavailable, context.Cause(ctx)
	default:
		fail.Kind = ErrUnknown
	}
	return outcome, fail
}

// early is a recording that was made before the action returned.
type early struct {
	outcome Outcome
	err     error
}

// Run is an action's view of its invocation. It ends with the action.
type Run struct {
	invocation
	call Call

	mu      sync.Mutex // held by whoever drives the flow while the action runs
	early   *early
	begun   bool        // Start has let the action begin
	context lazyContext // the action's
	heart   heart
}
