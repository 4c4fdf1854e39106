package restore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// judge says what became of a target.
//
//   - The worker has to stop, or is late: it is given back, and the attempt does not count.
//   - One of the systems cannot be asked: that says nothing of the target. It is tried again for as long as it takes.
//   - The target system does not let this process in, or do what it has to: that says nothing of the target either, and does not pass. It is
//     given back, and the worker ends, as a manager does.
//   - The target cannot be done: it is tried again so many times, then split, and if it is a single unit quarantined.
func (w *worker) judge(b *batch, t claimed, done Done, found []Finding, err error) result {
	r := result{claimed: t, state: complete, done: done, findings: found}
	if err == nil {
		return r
	}
	r.done, r.findings, r.reason = Done{}, nil, err.Error()
	switch {
	case b.ctx.Err() != nil || errors.Is(err, ErrLeaseLost):
		r.state = pending
	case errors.Is(err, ErrFenced):
		r.state = pending
		if failed := w.sessions.unfence(b.ctx, b.claim.session); failed != nil {
			w.options.Log.Debug("the manager was not told of a missing fence", "session", w.session, "error", failed)
		}
		w.pace.paused = time.Now().Add(w.options.Poll) // all others are refused, too, until the manager has looked
	case passing(err):
		r.state, r.attempts, r.again = retryable, t.before, w.backoff(t.attempts)
		w.pace.paused = time.Now().Add(w.options.Poll) // whatever else is taken would fail in the same way
	case errors.Is(err, ErrRefused):
		r.state, b.refused = pending, err
	case errors.Is(err, errNoTarget):
		r.state = failed
	case t.attempts < w.options.Attempts && !errors.Is(err, ErrBadUnit):
		r.state, r.again = retryable, w.backoff(t.attempts)
	default:
		w.isolate(b, &r)
	}
	return r
}

const longestBackoff = 10 * time.Second

// backoff is how long a target waits after its attempts failed: doubled each time, and spread.
func (w *worker) backoff(attempts int) time.Duration {
	d := min(w.options.Backoff<<min(attempts-1, 16), longestBackoff)
	return d/2 + rand.N(d/2+1)
}

// isolate splits a target that cannot be done, so that what can be done of it is, or quarantines it.
func (w *worker) isolate(b *batch, r *result) {
	parts, err := w.plan.Split(b.ctx, b.phase, r.Target)
	switch {
	case err != nil && (passing(err) || b.ctx.Err() != nil):
		r.state, r.attempts, r.again = retryable, r.before, w.options.Poll
	case err != nil:
		r.state, r.reason = failed, fmt.Sprintf("%s; splitting it: %v", r.reason, err)
	case len(parts) < 2:
		r.state = failed
	default:
		if what := wrongParts(r.Target, parts); what != "" {
			r.state, r.reason = failed, fmt.Sprintf("%s; the plan splits it wrongly: %s", r.reason, what)
			return
		}
		if r.parts = parts; r.ends(w.options.Attempts) > 0 { // what one of them has is suspected of all
			r.born = suspected(w.options.Attempts)
		}
	}
}

// wrongParts says why parts are not the whole: all of its units, and no others.
func wrongParts(whole Target, parts []Target) string {
	at, units, ended := whole.From, int64(0), false
	for _, p := range parts {
		if what := p.valid(); what != "" {
			return what
		}
		if p.From < at || ended {
			return fmt.Sprintf("a part begins at %q, before the end of the one before, %q", p.From, at)
		}
		at, units, ended = p.To, units+p.Units, p.To == ""
	}
	switch {
	case whole.To != "" && (ended || at > whole.To):
		return fmt.Sprintf("the last part ends at %q, after the whole, %q", at, whole.To)
	case units < whole.Units:
		return fmt.Sprintf("the parts have %d units, and the whole %d", units, whole.Units)
	}
	return ""
}
