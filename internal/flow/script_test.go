package flow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// scenario is what happens to one invocation, step by step, and what it does each time.
type scenario struct {
	name   string
	config func(*Config)
	steps  []step
}

// step is something that happens at a time, in seconds since the invocation began, and the directive that
// follows, as told by tell.
type step struct {
	at   float64
	what func(f *Flow, now time.Duration) Directive
	then string
}

// play runs a scenario with a lease of 30 s, a margin and patience of 6 s.
func play(t *testing.T, s scenario) {
	t.Helper()
	config := Config{Nonce: machine.Nonce{1}, Candidates: 1, Lease: 30 * time.Second, Margin: 6 * time.Second, Patience: 6 * time.Second}
	if s.config != nil {
		s.config(&config)
	}
	f := New(config)
	for i, step := range s.steps {
		now := time.Duration(step.at * float64(time.Second))
		if got := tell(step.what(&f, now)); got != step.then {
			t.Fatalf("step %d, at %v: %s, want %s", i+1, now, got, step.then)
		}
	}
}

func playAll(t *testing.T, scenarios []scenario) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			play(t, s)
		})
	}
}

// tell tells a directive: what the caller is told, if anything, then what is done.
func tell(d Directive) string {
	var words []string
	if d.Verdict != Undecided {
		words = append(words, "tell "+verdictNames[d.Verdict]+",")
	}
	words = append(words, verbNames[d.Verb])
	if d.Verb == Send {
		words = append(words, commandNames[d.Command])
		switch d.Command {
		case Acquire, Ask, Inspect:
			if d.Candidate > 0 {
				words = append(words, fmt.Sprintf("under candidate %d", d.Candidate))
			}
			if d.Seen > 0 && d.Command == Acquire {
				words = append(words, fmt.Sprintf("seen %d", d.Seen))
			}
		default:
			words = append(words, fmt.Sprintf("revision %d", d.Revision))
		}
		if d.Repeat {
			words = append(words, "again")
		}
	}
	if d.For > 0 {
		words = append(words, "for "+d.For.String())
	}
	return strings.Join(words, " ")
}

var (
	verbNames    = [...]string{Stop: "stop", Send: "send", Run: "run", Wait: "wait", Idle: "go on", Cancel: "cancel"}
	commandNames = [...]string{Acquire: "acquire", Start: "start", Renew: "renew", Complete: "complete", Fail: "fail",
		Withdraw: "withdraw", Release: "release", Ask: "ask", Inspect: "inspect"}
	verdictNames = [...]string{Recorded: "recorded", Unconfirmed: "unconfirmed", Replayed: "replayed", Mismatch: "mismatch",
		Gone: "gone", Incompatible: "incompatible", InProgress: "in progress", Conflict: "conflict", Invalid: "invalid",
		Unknown: "unknown", Unavailable: "unavailable", Lost: "lost", Corrupt: "corrupt", Left: "left", Outdated: "outdated"}
)

// What can happen.

func begins(f *Flow, now time.Duration) Directive     { return f.Begin(now) }
func wakes(f *Flow, now time.Duration) Directive      { return f.Woken(now) }
func leaves(f *Flow, _ time.Duration) Directive       { return f.Leave() }
func beats(f *Flow, now time.Duration) Directive      { return f.Beat(now) }
func startsLate(f *Flow, now time.Duration) Directive { return f.StartLate(now) }

func fails(failure Failure) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive { return f.Failed(now, failure) }
}

func beatFails(failure Failure) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive { return f.BeatFailed(now, failure) }
}

func ends(result Result) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive { return f.Finished(now, result) }
}

// replies brings a reply about a record of the invocation itself.
func replies(outcome machine.Outcome, revision uint64, state machine.State, left time.Duration) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive {
		return f.Replied(now, reply(outcome, revision, state, left))
	}
}

func beatReplies(outcome machine.Outcome, revision uint64, left time.Duration) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive {
		return f.BeatReplied(now, reply(outcome, revision, machine.Executing, left))
	}
}

// refuses brings a reply about a record of another invocation.
func refuses(outcome machine.Outcome, revision uint64) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive {
		r := reply(outcome, revision, machine.Executing, 20*time.Second)
		r.Yours = false
		return f.Replied(now, r)
	}
}

// finds brings the reply to an inspection.
func finds(r *machine.Record) func(*Flow, time.Duration) Directive {
	return func(f *Flow, now time.Duration) Directive {
		return f.Replied(now, machine.Reply{Outcome: machine.Found, Revision: r.Revision, Record: r})
	}
}

func reply(outcome machine.Outcome, revision uint64, state machine.State, left time.Duration) machine.Reply {
	at := machine.Instant(1_000_000)
	return machine.Reply{Outcome: outcome, At: at, State: state, Attempt: 1, Revision: revision, LeaseEnd: at.Add(left), Yours: true}
}
