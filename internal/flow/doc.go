// Package flow is the algorithm of the guard: what one invocation does, from its first claim to its
// recorded answer, whatever gets lost on the way.
//
// It is pure. Replies, failures and the time go in; what to do next comes out. It sends nothing, waits
// for nothing and reads no clock, so the guard (package reprise) and the proof that explores every
// interleaving (package explore) run the very same code.
//
// A [Flow] is a comparable value without pointers. Time is a duration since the invocation began, on the
// local monotonic clock; a lease is counted from before the command that tells it was sent, which is
// never later than the store's own count.
package flow

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Config is what a flow needs to know of policy and invocation.
type Config struct {
	Nonce      machine.Nonce
	Candidates int // scopes under which the key may be recorded; see store.Invocation
	Lease      time.Duration
	// Margin is how much of the lease must be left for the action to begin.
	Margin time.Duration
	// Patience bounds how long an exchange that got no clear reply is repeated before the caller is
	// told. Some go on in the background after that.
	Patience time.Duration
	// Wait is how long a duplicate waits for the answer of the call in flight.
	Wait  time.Duration
	Rerun bool // the interruption policy
	Late  bool // the action starts the record itself
}

// Verb says what to do next.
type Verb uint8

const (
	// Stop: nothing more is to be done.
	Stop Verb = iota
	// Send: send the command and report with Replied or Failed.
	Send
	// Run: run the action, calling Beat when told, and report with Finished.
	Run
	// Wait: wait until the record changes, or For has passed, and report with Woken.
	Wait
	// Idle: go on with the action; beat again after For.
	Idle
	// Cancel: the lease can no longer be shown to be held: end the action's context.
	Cancel
)

// Command names what to send. The sender builds it from the invocation.
type Command uint8

// The commands of a flow.
const (
	Nothing  Command = iota
	Acquire          // Begin, or Claim when the action starts late, with Seen
	Start            // for a late start
	Renew            // moves the lease's end
	Complete         // records the action's answer
	Fail             // records that there is no answer, as the action reported
	Withdraw         // Fail, without effect: the action was never run
	Release          // gives up a claim that was not started
	Ask              // a claim that cannot be granted: reads the answer, if there is one
	Inspect          // looks whether an acquisition arrived
)

// Verdict is what the caller is told.
type Verdict uint8

// The verdicts. Those from Replayed to Invalid rest on the last reply.
const (
	Undecided    Verdict = iota
	Recorded             // the action ran, and the record says what came of it
	Unconfirmed          // the action ran, and nobody has confirmed the recording
	Replayed             // the answer of another run
	Mismatch             // the key was used for another request
	Gone                 // answered, and the window is over
	Incompatible         // answered in a form that cannot be read here
	InProgress           // somebody else holds the key
	Conflict             // the retained owner token is in use for another operation
	Invalid              // the store refused the command as senseless
	Unknown              // nobody knows whether the effect happened
	Unavailable          // the action was not run: the store could not be asked
	Lost                 // the action was not run: the store lost its data
	Corrupt              // the action was not run: the record cannot be read
	Left                 // the caller gave up before the action began
	Outdated             // the action was not run: the invocation is too old to make a record. Another version may have one: this fails closed
)

// Directive is what to do next. A Verdict other than Undecided is the answer for the caller, given
// once; where the verb is not Stop, the rest is done after it, in the background.
type Directive struct {
	Verb    Verb
	Verdict Verdict

	Command   Command
	Candidate int
	Seen      uint64 // for Acquire
	Attempt   uint32
	Revision  uint64
	Repeat    bool // the same was sent before without success: pause first

	// For is how long to wait, to go on, or to try: see the verbs and Beat.
	For time.Duration
}

// Failure is what is known of a command without a reply.
type Failure uint8

// The failures, as package store's errors tell them.
const (
	NotApplied   Failure = iota // certainly not applied
	MaybeApplied                // may have been applied
	DataLost                    // not applied: the store lost its data
	Unreadable                  // not applied: the record cannot be read
)

// Result is what came of the action.
type Result uint8

// The results.
const (
	Answered Result = iota + 1 // a value
	NoEffect                   // nothing happened, and nothing can happen any more
	Doubtful                   // nobody knows: an error, a panic, an ended context
)

type phase uint8

const (
	claiming phase = iota
	acting
	starting // a late start is being sent
	recording
	asking   // refused as owner: whose answer is it then?
	cleaning // an acquisition that is not wanted is taken back
	over
)

// maxTakeovers bounds how often a flow goes after a key that others take at the same time.
const maxTakeovers = 8

// Flow is the state of one invocation.
type Flow struct {
	config Config
	phase  phase

	candidate int
	seen      uint64
	takeovers int
	// sentAt is when the command in hand was last sent; until is when patience with it ends.
	sentAt, until time.Duration
	// doubt: an acquisition may have been applied without a reply.
	doubt bool

	attempt   uint32
	revision  uint64
	held      bool
	started   bool
	heldUntil time.Duration

	renewAt time.Duration
	lost    bool // the lease cannot be shown to be held any more

	result   Result
	command  Command // being recorded, or sent for cleaning
	answered bool
}

// New returns a flow at its beginning.
func New(config Config) Flow { return Flow{config: config} }

// Held reports whether the invocation holds the key, and the attempt that it is.
func (f *Flow) Held() (attempt uint32, held bool) { return f.attempt, f.held }

// Candidate returns the index of the scope in which the key is recorded.
func (f *Flow) Candidate() int { return f.candidate }

func (f *Flow) send(c Command) Directive {
	return Directive{Verb: Send, Command: c, Candidate: f.candidate, Seen: f.seen, Attempt: f.attempt, Revision: f.revision}
}

func (f *Flow) repeat(c Command) Directive {
	d := f.send(c)
	d.Repeat = true
	return d
}

// end gives the caller its answer and stops.
func (f *Flow) end(v Verdict) Directive {
	f.phase = over
	return f.tell(v, Directive{Verb: Stop})
}

// tell adds the answer to a directive, unless it was given before.
func (f *Flow) tell(v Verdict, d Directive) Directive {
	if !f.answered {
		f.answered, d.Verdict = true, v
	}
	return d
}

// Replied reports the reply to the command that was sent.
func (f *Flow) Replied(now time.Duration, r machine.Reply) Directive {
	switch f.phase {
	case claiming:
		return f.acquireReplied(now, r)
	case starting:
		return f.startReplied(now, r)
	case recording:
		return f.recordReplied(now, r)
	case asking:
		return f.askReplied(r)
	case cleaning:
		return f.cleanReplied(r)
	}
	return Directive{Verb: Stop}
}

// Failed reports that the command that was sent got no reply.
func (f *Flow) Failed(now time.Duration, failure Failure) Directive {
	switch f.phase {
	case claiming:
		return f.acquireFailed(now, failure)
	case starting:
		return f.startFailed(now)
	case recording:
		return f.recordFailed(now)
	case asking:
		if now < f.until {
			return f.repeat(Ask)
		}
		return f.end(Unknown)
	case cleaning:
		return f.repeat(f.command)
	}
	return Directive{Verb: Stop}
}
