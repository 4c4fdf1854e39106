package flow

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// A flow and its essence are driven side by side, at random, and do the same. The essence is taken anew
// after each step.
func TestEssenceBehavesAlike(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		config := Config{
			Nonce: machine.Nonce{1}, Candidates: 1 + r.IntN(2), Lease: 30 * time.Second, Margin: 6 * time.Second,
			Patience: 15 * time.Second, Wait: time.Duration(r.IntN(3)) * 20 * time.Second, Rerun: r.IntN(2) == 0, Late: r.IntN(2) == 0,
		}
		flow, essence := New(config), New(config)
		var now, since time.Duration
		what := begins
		for n := range 30 {
			last := what(&flow, now)
			if got, want := tell(what(&essence, now-since)), tell(last); got != want {
				t.Fatalf("seed %d, step %d: the essence does %q, the flow %q", seed, n+1, got, want)
			}
			essence, since = essence.Essence(now-since), now
			if last.Verb == Stop && flow.phase == over {
				break
			}
			now += []time.Duration{0, 0, 1, 4, 10, 16, 31}[r.IntN(7)] * time.Second
			beating := flow.phase == acting && last.Verb == Send
			what = next(r, last, flow.phase, beating)
		}
	}
}

// next draws what can happen after a directive.
func next(r *rand.Rand, last Directive, p phase, beating bool) func(*Flow, time.Duration) Directive {
	failure := Failure(r.IntN(4))
	switch {
	case beating && r.IntN(3) == 0:
		return beatFails(failure)
	case beating:
		outcome := []machine.Outcome{machine.Renewed, machine.AlreadyRenewed, machine.Stale, machine.NotOwner}[r.IntN(4)]
		return beatReplies(outcome, uint64(r.IntN(9)+1), time.Duration(r.IntN(31))*time.Second)
	case p == acting:
		return []func(*Flow, time.Duration) Directive{beats, beats, startsLate, ends(Answered), ends(NoEffect), ends(Doubtful)}[r.IntN(6)]
	case last.Verb == Wait && r.IntN(3) == 0, p == claiming && last.Repeat && r.IntN(5) == 0:
		return leaves
	case last.Verb == Wait:
		return wakes
	case r.IntN(3) == 0:
		return fails(failure)
	}
	return randomReply(r, last.Command)
}

// randomReply draws one of the replies that a command can have.
func randomReply(r *rand.Rand, c Command) func(*Flow, time.Duration) Directive {
	state := []machine.State{machine.Claimed, machine.Executing}[r.IntN(2)]
	if c == Inspect && r.IntN(3) > 0 {
		return finds(&machine.Record{State: state, Nonce: machine.Nonce{byte(r.IntN(2))}, Attempt: 1, Revision: uint64(r.IntN(9) + 1)})
	}
	outcomes := []machine.Outcome{machine.Acquired, machine.ReplayedAcquire, machine.Takeable, machine.TakenOver,
		machine.Barred, machine.InProgress, machine.RecoveryRequired, machine.Replay}
	if c != Acquire && c != Ask {
		outcomes = []machine.Outcome{machine.Started, machine.AlreadyStarted, machine.CompletedNow, machine.Failed,
			machine.Released, machine.Stale, machine.WrongState, machine.NotOwner, machine.LeaseEnded, machine.NotFound}
	}
	outcome, revision := outcomes[r.IntN(len(outcomes))], uint64(r.IntN(9)+1)
	if r.IntN(2) == 0 {
		return refuses(outcome, revision)
	}
	return replies(outcome, revision, state, time.Duration(r.IntN(31))*time.Second)
}
