package restore

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// Plan is what a kind of data needs to be restored: from what, into what, in which phases. A [Runner] calls it; an
// application does not.
//
// Every method may be called again, by another process too, whether or not the call before it was confirmed, and
// then has to come to the same end. Methods that write to the target system carry a [Fence], and have to compare it there, in the
// same step as the write: an older epoch than the target system's, another generation, and (but for CloseGate, Drain,
// Renew and WriteFence) a fence that is missing, are refused with [ErrFenced] and change nothing. Because a process
// that was paused may go on at any later moment with any call that it was about to make.
//
// Errors say what they say in package store: [store.ErrUnavailable] and [store.ErrIndeterminate] are of the systems and say nothing of
// what was to be restored; such a call is repeated for as long as it takes. Any other error is an error of what was asked for.
// No error is ever taken for an end.
type Plan interface {
	// Describe returns what the plan is. It returns the same for as long as the plan lives.
	Describe() Description

	// Generation returns which life of its data the target system has, as Renew has written it, in all of its parts. Empty
	// means that it was lost, is partial, or is another server than the one that was written to. Not being able to ask is an
	// error.
	Generation(ctx context.Context) (string, error)

	// Ready says why the target system is not to be restored by this plan: it is another one ([ErrOtherSystem]), or refuses what a
	// restore needs. It is asked before a session begins or goes on, and before it is taken for lost, and changes nothing. A target system that
	// cannot be asked, or has lost everything, is ready: it is waited for.
	Ready(ctx context.Context) error

	// CloseGate keeps traffic from the target system, and keeps everybody from changing what it is restored from. It returns when
	// every part of the system has confirmed. It may be called before the target system can be written to. Another system it leaves alone: it
	// has no fence that would, and may be there only since Ready was asked.
	CloseGate(ctx context.Context, fence Fence) error

	// Drain returns when nothing that was let through the gate is under way any more.
	Drain(ctx context.Context, fence Fence) error

	// Renew begins the fence's generation: first where it is restored from, so that nothing of an older one is accepted there,
	// then in every part of the target system. What an older one has written is void from then on. Another system it leaves alone, as
	// CloseGate does.
	Renew(ctx context.Context, fence Fence) error

	// WriteFence writes the fence into every part of the target system and returns when each has confirmed. After it no
	// write with an older epoch takes effect. A newer epoch in any of them is [ErrFenced].
	WriteFence(ctx context.Context, fence Fence) error

	// Expect counts the units of a phase, in another way than by listing its targets. Targets with fewer units in all are
	// not complete.
	Expect(ctx context.Context, phase int) (units int64, err error)

	// Targets lists targets of a phase, in the order of their keys, at most limit of them: those that begin at after, or later. The
	// end is last, and nothing else. A target has some hundred units: claiming it is what costs. Keys are up to 255 bytes of UTF-8, without NUL.
	// The phase after the last is verification: its targets are what Verify is to look at.
	Targets(ctx context.Context, phase int, after string, limit int) (targets []Target, last bool, err error)

	// Split cuts a target in two or more, which together have its units and no others, in the order of their keys. One that
	// cannot be cut, because it has one unit, is returned as nothing.
	Split(ctx context.Context, phase int, target Target) ([]Target, error)

	// Apply does a phase for all units of a target. A unit at or past the phase is skipped. Where a unit cannot be done, the
	// error may be [ErrBadUnit], which says that trying again is no use; what was done of the others stays. Different targets are
	// applied at the same time; a target may be applied by two at once, when one of them is late.
	Apply(ctx context.Context, phase int, target Target, fence Fence) (Done, error)

	// Verify compares a target with what it should be, by a way of its own to find that out, and changes nothing. Findings are
	// what is not equal; no findings means that every unit was looked at and is equal.
	Verify(ctx context.Context, target Target, fence Fence) (Done, []Finding, error)

	// Correct puts right what was found, if it still is as it was judged, in one step. Before it changes anything it has what is there kept,
	// for Undo. It says what became of it. All that was corrected is verified again. In a session nothing is under way
	// meanwhile; where the epoch is 0 the gate may be open, and what is under way is never corrected.
	Correct(ctx context.Context, finding Finding, fence Fence, keep Keep) (Correction, error)

	// Undo puts back what a correction has replaced, if what it wrote is still there, in one step. It says what became of it.
	Undo(ctx context.Context, finding Finding, old []byte, fence Fence) (Correction, error)

	// CleanUp removes what the restore needed and the target system does not. The fence stays.
	CleanUp(ctx context.Context, fence Fence) error

	// OpenGate lets traffic through, and lets those go on that CloseGate held.
	OpenGate(ctx context.Context, fence Fence) error

	// Abandon lets those go on that CloseGate held, after a session was cancelled. The gate stays closed.
	Abandon(ctx context.Context, fence Fence) error
}

// Description says what a plan is.
type Description struct {
	// Name is the plan's, up to 64 bytes. There is one live session of a name.
	Name string
	// Digest is of everything that decides what is restored, and how; up to 128 bytes. A session is gone on with only by a plan
	// of the same digest. Configuration is the same in words, for the person who is told of a difference.
	Digest, Configuration string
	// Phases are the names of the phases, in their order. Verification is not among them.
	Phases []string
	// Retention is how long ago a failure may be so that the plan still has what it needs; 0 is for ever.
	Retention time.Duration
}

// Fence is what a write carries so that a late one is refused.
type Fence struct {
	// Session is the number of the session.
	Session int64
	// Epoch is raised whenever another process takes the session over, and with each phase. It never falls, not with
	// the next session of a plan either.
	Epoch int64
	// Generation is the life of the data that the session makes.
	Generation string
}

// Target is a range of units.
type Target struct {
	// From is the first key, and To the one after the last; an empty To is the end of all keys.
	From, To string
	// Units is how many there are.
	Units int64
	// Priority says what is done first: the lower one. What was used lately should have a low one.
	Priority int64
}

// valid says what is impossible about a target.
func (t Target) valid() string {
	switch {
	case t.Units <= 0:
		return "it has no units"
	case t.To != "" && t.From >= t.To:
		return "it ends where it begins, or before"
	case len(t.From) > maxKey || len(t.To) > maxKey:
		return "its keys are too long"
	case !text(t.From) || !text(t.To):
		return "its keys are not UTF-8, or have a NUL"
	}
	return ""
}

const maxKey = 255

// text reports whether a key can be kept by every server.
func text(key string) bool { return utf8.ValidString(key) && !strings.ContainsRune(key, 0) }

// Done says what became of the units of a target. Fewer than the target has are an error of their own.
type Done struct {
	// Units were done, and Skipped were done before.
	Units, Skipped int64
}

// Outcome is what verification says of an item.
type Outcome string

// The outcomes of what is not equal. Any but Corrected, Undone, Quarantined, Waiting and Lost keep the gate closed.
const (
	Different   Outcome = "different"
	Missing     Outcome = "missing"
	Extra       Outcome = "extra"
	Unflushed   Outcome = "unflushed"   // cannot be judged while something is on its way
	Unreadable  Outcome = "unreadable"  // cannot be read
	Skipped     Outcome = "skipped"     // was not looked at
	Quarantined Outcome = "quarantined" // belongs to a unit that could not be restored
	Corrected   Outcome = "corrected"   // was put right, and is verified again
	Undone      Outcome = "undone"      // was put right, and is again as it was before that
	Waiting     Outcome = "waiting"     // was accepted, and is dealt with when the gate is open
	Lost        Outcome = "lost"        // was accepted before the failure, and nothing can bring it back
)

// settled reports whether an outcome leaves nothing to be put right.
func (o Outcome) settled() bool {
	return o == Corrected || o == Undone || o == Quarantined || o == Waiting || o == Lost
}

// Finding is something that verification found.
type Finding struct {
	// ID is given by the session.
	ID int64 `json:"id"`
	// Kind is the kind of the item, such as a family of keys, and Item which one it is. One that is not UTF-8, has a NUL or is very long is kept
	// quoted: Correct has to see that this is not the item.
	Kind    string  `json:"kind"`
	Item    string  `json:"item"`
	Outcome Outcome `json:"outcome"`
	// Detail says what should be and what is, for a person, and for the plan's Correct.
	Detail string `json:"detail"`
}

// Correction says what became of a finding.
type Correction struct {
	// Outcome is Corrected, or says why not.
	Outcome Outcome
	// Detail says more; empty leaves the finding's.
	Detail string
}

// Keep keeps what a correction is about to replace, so that it can be undone. A correction that has kept nothing is not undone. One that has
// not replaced what it kept keeps something else in its place, or nil.
type Keep func(ctx context.Context, old []byte) error
