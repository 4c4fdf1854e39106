package explore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// mutant is a deliberately broken machine, with the world in which it shows. It is machine.Step with the
// record or the command changed before, or the record or the reply after.
//
// Where it shows in what happens to the callers, the world is blind to the machine's single decisions.
type mutant struct {
	name  string
	step  Step
	world Setting
	found string // part of the promise that is seen to be broken
}

func mutants() []mutant {
	return []mutant{
		{"renew is a no-op", renewNothing,
			Setting{Callers: two, Rerun: true, Blind: true, Bounds: Bounds{Ticks: 4}},
			"takes the key for held"},
		{"start without nonce", oneNonce,
			Setting{Callers: lateTwins, Blind: true, Bounds: Bounds{Ticks: 1}},
			"runs its action while"},
		{"transitions do not check the nonce", nonceUnchecked,
			Setting{Callers: lateTwins, Blind: true, Bounds: Bounds{Ticks: 1}},
			"frees the key while"},
		{"an owner may claim what is executing", ownersClaim,
			Setting{Callers: twins, Blind: true, Bounds: Bounds{Ticks: 1}},
			"runs its action while"},
		{"takeover without the seen revision", takeoverUnseen,
			Setting{Callers: two, Bounds: Bounds{Ticks: 1, Repeats: 1}},
			"took over revision"},
		{"a late owner is accepted after a settlement", ownersComeBack,
			Setting{Callers: two, Bounds: Bounds{Ticks: 5, Settles: 1}},
			"changed a completed record"},
		{"the resolver is asked while the action may run", machine.Step,
			Setting{Callers: two, Hasty: true, Blind: true, Bounds: Bounds{Ticks: 5, Settles: 1}},
			"the resolver was asked while"},
		{"complete ignores the window", windowIgnored,
			Setting{Callers: []Caller{{Stubborn: true}, {}}, Bounds: Bounds{Ticks: 1}},
			"the record says something else"},
		{"an execution fades", executionFades,
			Setting{Callers: two, Blind: true, Bounds: Bounds{Ticks: 4}},
			"frees the key after the effect"},
		{"quarantine is forgotten", quarantineForgotten,
			Setting{Callers: two, Blind: true, Bounds: Bounds{Ticks: 4}},
			"which had an effect or can still have one"},
		{"the fingerprint is not compared", fingerprintUnchecked,
			Setting{Callers: other, Blind: true, Bounds: Bounds{Ticks: 1}},
			"is given the answer to another request"},
		{"a refusal deletes the record", refusalDeletes,
			Setting{Callers: other, Bounds: Bounds{Ticks: 1}},
			"was answered fingerprint-mismatch and changed the record"},
		{"what has no effect is completed", failCompletes,
			Setting{Callers: two, Blind: true, Bounds: Bounds{Ticks: 1}},
			"records an answer without an effect"},
		{"a completion is stale for ever", completeStale,
			Setting{Callers: two, Blind: true, Bounds: Bounds{Ticks: 1}},
			"cannot reach its end"},
	}
}

func TestBrokenMachinesAreFound(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(m.world, m.step, limit)
			var v *Violation
			if !errors.As(err, &v) {
				t.Fatalf("nothing was found in %d worlds (%v)", report.Worlds, err)
			}
			if !strings.Contains(v.Promise, m.found) {
				t.Errorf("found something else than %q", m.found)
			}
			t.Logf("found, %d visited: %v", report.Worlds, v)
		})
	}
}

func renewNothing(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	next, reply := machine.Step(r, c, now)
	if reply.Outcome == machine.Renewed {
		reply.Revision = r.Revision
		return r, reply
	}
	return next, reply
}

func oneNonce(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	return machine.Step(r, withNonce(c, machine.Nonce{1}), now)
}

func nonceUnchecked(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if r != nil && c.Kind() != machine.KindStart {
		c = withNonce(c, r.Nonce)
	}
	return machine.Step(r, c, now)
}

// withNonce returns a command of an owner with another nonce.
func withNonce(c machine.Command, n machine.Nonce) machine.Command {
	switch c := c.(type) {
	case machine.Start:
		c.Nonce = n
		return c
	case machine.Renew:
		c.Nonce = n
		return c
	case machine.Complete:
		c.Nonce = n
		return c
	case machine.Fail:
		c.Nonce = n
		return c
	case machine.Release:
		c.Nonce = n
		return c
	}
	return c
}

func ownersClaim(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	next, reply := machine.Step(r, c, now)
	if c.Kind() == machine.KindBegin && reply.Outcome == machine.InProgress && reply.Yours {
		reply.Outcome = machine.ReplayedAcquire
	}
	return next, reply
}

func takeoverUnseen(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if b, ok := c.(machine.Begin); ok && r != nil {
		b.Seen = r.Revision
		c = b
	}
	return machine.Step(r, c, now)
}

// ownersComeBack lets the owner who was settled complete all the same.
func ownersComeBack(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if o, ok := c.(machine.Complete); ok && r != nil && r.Last.Kind == machine.KindSettle {
		back := *r
		back.State, back.Owner, back.Nonce, back.Revision = machine.Executing, o.Owner.Digest(), o.Nonce, o.Revision
		return machine.Step(&back, c, now)
	}
	return machine.Step(r, c, now)
}

func windowIgnored(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if o, ok := c.(machine.Complete); ok && r != nil && r.State == machine.Completed {
		o.Window = r.WindowEnd.Sub(r.Finished)
		c = o
	}
	return machine.Step(r, c, now)
}

// executionFades forgets an execution whose lease ended.
func executionFades(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if r != nil && r.State == machine.Executing && machine.InstantOf(now) >= r.LeaseEnd {
		r = nil
	}
	return machine.Step(r, c, now)
}

// quarantineForgotten takes every policy for rerun.
func quarantineForgotten(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if r != nil && r.Interruption == machine.Quarantine {
		rerun := *r
		rerun.Interruption = machine.Rerun
		next, reply := machine.Step(&rerun, c, now)
		if next == &rerun {
			next = r
		}
		return next, reply
	}
	return machine.Step(r, c, now)
}

func fingerprintUnchecked(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if b, ok := c.(machine.Begin); ok && r != nil {
		b.Fingerprints = []machine.Fingerprint{r.Fingerprint}
		c = b
	}
	return machine.Step(r, c, now)
}

func refusalDeletes(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	next, reply := machine.Step(r, c, now)
	if reply.Outcome == machine.FingerprintMismatch {
		return nil, reply
	}
	return next, reply
}

func failCompletes(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if f, ok := c.(machine.Fail); ok && f.NoEffect {
		c = machine.Complete{Hold: f.Hold, Response: answerOf(f.Nonce[0]), Window: forever, Remember: forever}
	}
	return machine.Step(r, c, now)
}

func completeStale(r *machine.Record, c machine.Command, now time.Time) (*machine.Record, machine.Reply) {
	if c.Kind() == machine.KindComplete && r != nil {
		return r, machine.Reply{Outcome: machine.Stale, At: machine.InstantOf(now), State: r.State, Revision: r.Revision, Yours: true}
	}
	return machine.Step(r, c, now)
}
