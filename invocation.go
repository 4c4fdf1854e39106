package reprise

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/internal/patience"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// invocation carries out what its flow says: it builds commands, sends them, waits, and reports back.
// It decides nothing itself. One goroutine drives it at a time.
type invocation struct {
	prepared
	guard *Guard
	flow  flow.Flow
	began time.Time // all times of the flow count from here
	// looked is when the clock was last read. An exchange that follows at once counts from it.
	looked time.Duration

	reply   machine.Reply // the last one
	failure error         // of the last command that got no reply
	pauses  int           // in a row, for the back-off

	// Of a duplicate that waits: the revision of which it last awaited a change, whether the store said that
	// there was one, and how often it has napped since.
	awaited uint64
	woken   bool
	naps    int

	// What the action came to, for the command that records it.
	response machine.Response
	reason   string
	harmless bool // it is known to have had no effect
}

func (v *invocation) now() time.Duration {
	v.looked = time.Since(v.began)
	return v.looked
}

// start readies the flow. The invocation must be prepared.
func (v *invocation) start(g *Guard) {
	v.guard = g
	v.flow = flow.New(flow.Config{
		Nonce: v.Nonce, Candidates: len(v.Candidates), Lease: v.Lease,
		Margin: v.Lease / 5, Patience: min(3*g.policy.CommandTimeout, v.Lease/2), Wait: g.policy.Wait,
		Rerun: v.Interruption == Rerun, Late: g.policy.LateStart,
	})
}

// pursue goes on until the flow has an answer, or the action is to run, go on or end.
func (v *invocation) pursue(ctx context.Context, d flow.Directive) flow.Directive {
	for d.Verdict == flow.Undecided && (d.Verb == flow.Send || d.Verb == flow.Wait) {
		d = v.advance(ctx, d)
	}
	return d
}

// finish does in the background what is left after the answer was given. Nobody else may look at the
// invocation from then on.
func (v *invocation) finish(d flow.Directive) {
	if d.Verb == flow.Send {
		v.guard.background.Go(v.rest(d))
	}
}

func (v *invocation) rest(d flow.Directive) func() {
	g := v.guard
	g.policy.Log.Warn("reprise: going on in the background", "record", v.digest(), "command", v.command(d).Kind().String(), "error", v.failure)
	g.unconfirmed.Add(1)
	return func() {
		defer g.unconfirmed.Add(-1)
		for d.Verb == flow.Send && g.life.Err() == nil {
			d = v.advance(g.life, d)
		}
	}
}

// advance does one thing that the flow says, and returns the next.
func (v *invocation) advance(ctx context.Context, d flow.Directive) flow.Directive {
	if d.Verb == flow.Wait {
		who := patience.Of(ctx)
		v.await(who, d)
		switch {
		case ctx.Err() != nil:
			return v.flow.Leave()
		case who.Err() != nil:
			return v.flow.Deserted()
		}
		return v.flow.Woken(v.now())
	}
	if d.Repeat {
		v.pause(ctx)
		v.now()
	} else {
		v.pauses = 0
	}
	reply, failure := v.apply(ctx, v.command(d))
	if failure != nil {
		next := v.flow.Failed(v.now(), *failure)
		if ctx.Err() != nil && next.Verdict == flow.Undecided && d.Command == flow.Acquire {
			return v.flow.Leave()
		}
		return next
	}
	v.reply = reply
	return v.flow.Replied(v.now(), reply)
}

// apply sends one command, bounded by the policy's time-out.
func (v *invocation) apply(ctx context.Context, c machine.Command) (machine.Reply, *flow.Failure) {
	bounded := &lazyContext{Context: ctx, deadline: v.began.Add(v.looked + v.guard.policy.CommandTimeout)}
	defer bounded.end()
	reply, err := v.guard.store.Apply(bounded, c)
	if err == nil {
		return reply, nil
	}
	v.failure = err
	failure := failureOf(err)
	return machine.Reply{}, &failure
}

func failureOf(err error) flow.Failure {
	switch store.Classify(err) {
	case store.ErrLost:
		return flow.DataLost
	case store.ErrCorrupt:
		return flow.Unreadable
	case store.ErrIndeterminate:
		return flow.MaybeApplied
	}
	return flow.NotApplied
}

// command builds what the flow wants sent.
func (v *invocation) command(d flow.Directive) machine.Command {
	hold := v.Hold(d.Candidate, d.Attempt, d.Revision)
	switch d.Command {
	case flow.Acquire:
		if v.guard.policy.LateStart {
			return v.Claim(d.Candidate, d.Seen)
		}
		return v.Begin(d.Candidate, d.Seen)
	case flow.Start:
		return machine.Start{Hold: hold, Lease: v.Lease}
	case flow.Renew:
		return machine.Renew{Hold: hold, Lease: v.Lease}
	case flow.Complete:
		return v.Complete(hold, v.response)
	case flow.Fail:
		return v.Fail(hold, v.harmless, v.reason, v.response)
	case flow.Withdraw:
		return v.Fail(hold, true, reasonNotRun, machine.Response{})
	case flow.Release:
		return machine.Release{Hold: hold}
	case flow.Ask:
		return v.Ask(d.Candidate)
	}
	return machine.Inspect{Scope: hold.Scope}
}

func (v *invocation) digest() machine.Digest { return v.Candidates[v.flow.Candidate()].Scope.Digest }

const (
	firstPause = 5 * time.Millisecond
	maxPause   = 5 * time.Second
)

// pause backs off, doubling with full jitter, until ctx ends.
func (v *invocation) pause(ctx context.Context) {
	limit := min(maxPause, firstPause<<min(v.pauses, 16))
	v.pauses++
	wait(ctx, nil, limit/2+rand.N(limit/2+1))
}

// await waits until the record may have changed, at most for d.For. A store that wakes nobody is asked ever
// more rarely, and so is one that wakes for nothing, because it cannot read the record, say.
func (v *invocation) await(ctx context.Context, d flow.Directive) {
	limit := max(d.For, time.Millisecond)
	if d.Revision != v.awaited {
		v.naps, v.woken = 0, false
	}
	w := v.guard.watcher
	if w == nil || v.woken {
		v.naps = min(v.naps+1, 7)
		wait(ctx, nil, min(limit, firstPause<<v.naps))
	}
	v.awaited = d.Revision
	if w == nil {
		return
	}
	changed, stop := w.Watch(v.Candidates[d.Candidate].Scope, d.Revision)
	defer stop()
	// Some stores wake only their own process, and a wake-up can be missed.
	v.woken = wait(ctx, changed, min(limit, watchedPoll))
}

const watchedPoll = 250 * time.Millisecond

// wait returns when ctx ends, something changed, or the time is over. It reports whether something changed.
func wait(ctx context.Context, changed <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}
