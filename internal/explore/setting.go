package explore

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Time goes in ticks. The shortest lease that the machine takes is a millisecond, so that is a tick.
const (
	tick  = time.Millisecond
	epoch = time.Second // of the store's clock: zero would mean "not set"

	lease   = 3 * tick // renewed at one tick, too late to begin after two
	longest = 1        // ticks for which an action goes on after its lease ended, at worst
	forever = 100 * tick
)

// MaxCallers is how many callers a setting can have.
const MaxCallers = 3

// Caller says what sets a caller apart.
type Caller struct {
	// Late callers claim first, and start when they come to the part which cannot be undone.
	Late bool
	// Other callers send another request under the same key.
	Other bool
	// Resumes is true for a caller that was given the owner token and operation of the first one.
	Resumes bool
	// Stubborn callers complete a second time, with another replay window.
	Stubborn bool
}

// Setting says what can happen in a world.
type Setting struct {
	Callers []Caller
	Rerun   bool // the interruption policy; false is quarantine
	Wait    int  // ticks for which a duplicate waits for the answer
	Rotate  int  // the tick at which a second version of the secret becomes primary; 0: there is one

	Window    int  // ticks for which an answer replays; 0: for ever
	Retryable int  // ticks for which a retryable key is remembered; 0: for ever
	Sweeps    bool // what counts as absent can be deleted
	Loses     bool // the store can answer that it lost its data, or cannot read the record
	Certain   bool // actions do not end in doubt
	// Hasty asks the resolver as soon as the lease ended, which breaks a promise. Blind judges what happens
	// in the world, and not each decision of the machine. Both are for tests of the proof.
	Hasty, Blind bool

	Bounds
}

// Bounds is how often something can happen on the way to a world.
type Bounds struct {
	Ticks   int // the last instant
	Lost    int // exchanges that fail: refused, or with the command or its reply lost or late
	Repeats int // commands that arrive once more, at any later time
	Leaves  int // callers that give up
	Settles int // settlements, by resolver or operator
}

// Step decides commands: [machine.Step], or something broken.
type Step func(record *machine.Record, command machine.Command, now time.Time) (*machine.Record, machine.Reply)

func ticks(n int, otherwise time.Duration) time.Duration {
	if n == 0 {
		return otherwise
	}
	return time.Duration(n) * tick
}

func instant(now uint8) time.Time { return time.Unix(0, int64(epoch)+int64(now)*int64(tick)) }

// tickOf returns the tick of an instant.
func tickOf(at machine.Instant) int {
	return int((time.Duration(at)*time.Microsecond - epoch) / tick)
}
