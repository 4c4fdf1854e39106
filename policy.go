package reprise

import (
	"log/slog"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Interruption says what it means that a lease ran out while an action was running.
type Interruption = machine.Interruption

// The two interruption policies.
const (
	// Quarantine: nobody knows; the key waits until it is settled. The default.
	Quarantine = machine.Quarantine
	// Rerun: the action is safe to run again, and the next call does.
	Rerun = machine.Rerun
)

// Policy says how a guard treats its operations. The zero value of every field but Secrets is a
// sensible default, named at the field.
type Policy struct {
	// Secrets make the digests under which keys are recorded. Required.
	Secrets *Secrets
	// Revision counts changes of what recorded answers mean. A guard refuses to replay answers that a
	// higher revision recorded. Default 1.
	Revision uint32
	// Interruption is Quarantine or Rerun.
	Interruption Interruption

	// Lease is how long a holder may be silent before it counts as dead. It is renewed at a third
	// while the action runs. Default 30 s; at least three times CommandTimeout.
	Lease time.Duration
	// CommandTimeout bounds each exchange with the store. Default 2 s.
	CommandTimeout time.Duration
	// ReplayWindow is how long an answer replays. Default 24 h.
	ReplayWindow time.Duration
	// Remember is how long a completed key is refused rather than run again. Default 7 days, or
	// ReplayWindow when that is longer.
	Remember time.Duration
	// RetryableFor is how long a key that had no effect is remembered. Default 7 days.
	RetryableFor time.Duration
	// RetryHorizon is how long clients may go on retrying. A ReplayWindow below it is refused.
	RetryHorizon time.Duration

	// Wait is how long a duplicate waits for the answer of the call in flight before it is told
	// ErrInProgress. Default 0: it is told at once.
	Wait time.Duration
	// LateStart lets the action begin while the key is only claimed; it then calls [Run.Start] just
	// before the part that cannot be undone.
	LateStart bool
	// MaxKept is the size in bytes up to which an answer is kept for replay. Default 2 MiB.
	MaxKept int

	// Resolver is asked what happened to operations whose outcome is unknown. Optional.
	Resolver Resolver
	// LongestAction is how long an action may go on after its lease ended, at worst. The resolver is
	// asked only after that. Required with Resolver.
	LongestAction time.Duration

	// Log receives what nobody is told otherwise, such as a recording that goes on in the background.
	// Default: nothing.
	Log *slog.Logger
}

// Defaults of a [Policy].
const (
	DefaultLease          = 30 * time.Second
	DefaultCommandTimeout = 2 * time.Second
	DefaultReplayWindow   = 24 * time.Hour
	DefaultRemember       = 7 * 24 * time.Hour
	DefaultRetryableFor   = 7 * 24 * time.Hour
	DefaultMaxKept        = 2 << 20
)

// withDefaults fills in what is zero.
func (p Policy) withDefaults() Policy {
	p.Revision = orDefault(p.Revision, 1)
	p.Lease = orDefault(p.Lease, DefaultLease)
	p.CommandTimeout = orDefault(p.CommandTimeout, DefaultCommandTimeout)
	p.ReplayWindow = orDefault(p.ReplayWindow, DefaultReplayWindow)
	p.Remember = orDefault(p.Remember, max(DefaultRemember, p.ReplayWindow))
	p.RetryableFor = orDefault(p.RetryableFor, DefaultRetryableFor)
	p.MaxKept = orDefault(p.MaxKept, DefaultMaxKept)
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return p
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Check reports what is wrong with the policy, defaults filled in, or nil.
func (p Policy) Check() error {
	p = p.withDefaults()
	switch {
	case p.Secrets == nil:
		return invalid("Policy.Secrets is missing: make them with reprise.NewSecrets from at least 32 random bytes that all processes share")
	case p.Interruption > Rerun:
		return invalid("Policy.Interruption is neither Quarantine nor Rerun")
	case p.CommandTimeout < time.Millisecond:
		return invalid("Policy.CommandTimeout %v is below 1ms", p.CommandTimeout)
	case p.CommandTimeout > p.Lease/3: // three times it may be more than a duration holds
		return invalid("Policy.Lease %v is below three times Policy.CommandTimeout %v: one slow renewal would lose it", p.Lease, p.CommandTimeout)
	case p.Lease > machine.MaxLease:
		return invalid("Policy.Lease %v is above %v", p.Lease, machine.MaxLease)
	case p.ReplayWindow < 0 || p.Wait < 0 || p.LongestAction < 0 || p.MaxKept < 0:
		return invalid("ReplayWindow, Wait, LongestAction and MaxKept cannot be negative")
	case p.ReplayWindow < p.RetryHorizon:
		return invalid("Policy.ReplayWindow %v is shorter than clients go on retrying (RetryHorizon %v)", p.ReplayWindow, p.RetryHorizon)
	case p.Remember < p.ReplayWindow:
		return invalid("Policy.Remember %v is shorter than ReplayWindow %v: a key would be new again while its answer still replays", p.Remember, p.ReplayWindow)
	case p.Remember > machine.MaxRemember || p.RetryableFor > machine.MaxRemember || p.RetryableFor < time.Millisecond || p.Remember < time.Millisecond:
		return invalid("Remember and RetryableFor must be between 1ms and %v", machine.MaxRemember)
	case p.Resolver != nil && p.LongestAction == 0:
		return invalid("Policy.LongestAction is missing: with a Resolver, say how long an action may go on after its lease ended")
	}
	return nil
}
