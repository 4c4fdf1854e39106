package reprise

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// Attempt counts how often the key was held, this time included, from 1.
func (r *Run) Attempt() uint32 {
	attempt, _ := r.flow.Held()
	return attempt
}

// Digest names the record, for logs and operators.
func (r *Run) Digest() machine.Digest { return r.digest() }

// DownstreamKey derives an idempotency key for a call to another service: the same on every attempt
// and in every process, different for each name. It has the form of a UUID.
func (r *Run) DownstreamKey(name string) string {
	return r.versions[r.flow.Candidate()].key.downstream(r.digest(), name)
}

// Retain returns what is needed to continue this attempt, by [Call.Resume], if it ends before
// [Run.Start] was called.
func (r *Run) Retain() Retained { return Retained{Owner: r.Owner, Operation: r.Operation} }

// Start says, under [Policy.LateStart], that the part which cannot be undone begins. If it returns an
// error the action must not go on to that part. With a context that has ended it does not begin: the record stays
// as it is. Without LateStart, and again, it does nothing.
func (r *Run) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.early != nil {
		return r.early.err
	}
	if r.begun || !r.guard.policy.LateStart {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ErrLeaseLost) { // the flow knows what became of the lease
		return &Error{Kind: ErrUnavailable, Digest: r.digest(), Detail: "the action must not begin: its context has ended", Cause: cause}
	}
	// A start that is not known to have arrived is repeated, whether or not its caller has left meanwhile.
	ctx = context.WithoutCancel(ctx)
	d := r.flow.StartLate(r.now())
	for d.Verb == flow.Send {
		d = r.advance(ctx, d)
	}
	if d.Verb == flow.Run {
		r.begun = true
		return nil
	}
	err := &Error{Kind: ErrLeaseLost, Digest: r.digest(), Detail: "the action must not begin", Cause: r.failure}
	r.context.cancel(err)
	return err
}

// Complete records the answer now, before the action returns: for answers that must leave before their
// end is known. After nil they may leave. After an error the action must not hand out an answer of its
// own: the key was given to another invocation, was settled, or nobody knows. What the action returns
// afterwards is not recorded.
func (r *Run) Complete(ctx context.Context, response Response) error {
	r.guard.pacemaker.stop(&r.heart)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.early == nil {
		result := r.classify(response, nil, "")
		outcome, err := r.record(ctx, result, response, nil)
		if err == nil && !outcome.Ran {
			// Another run's answer is on record: this one is not to leave.
			err = &Error{Kind: ErrLeaseLost, Digest: outcome.Digest, Detail: "the key was answered by another run"}
		}
		r.early = &early{outcome, err}
	}
	return r.early.err
}

// Recorded reports, after [Run.Complete], whether the store has confirmed the recording. False before.
func (r *Run) Recorded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.early != nil && r.early.outcome.Recorded
}
