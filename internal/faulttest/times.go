package faulttest

import (
	"slices"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// sighting is an instant that somebody was told, and what it belongs to.
type sighting struct {
	field field
	at    machine.Instant
}

// field says what a command has to do with an instant of a record that it led to.
type field int

const (
	someReply field = iota // when another command was decided
	itself                 // when it was decided itself
	itsLease               // its lease after that
	itsWindow              // its replay window after that
	itsMemory              // its time of remembrance after that
)

type sighted []sighting

// sightings collects every instant that a history of one key tells.
func sightings(exchanges []exchange) sighted {
	met := map[sighting]bool{}
	note := func(f field, instants ...machine.Instant) {
		for _, at := range instants {
			if at != 0 {
				met[sighting{f, at}] = true
			}
		}
	}
	for _, x := range exchanges {
		if x.end == pending || x.err != nil {
			continue
		}
		note(someReply, x.reply.At)
		note(itself, x.reply.Finished)
		note(itsLease, x.reply.LeaseEnd)
		note(itsWindow, x.reply.WindowEnd)
		note(itsMemory, x.reply.RememberUntil)
		if r := x.reply.Record; r != nil {
			note(itself, r.Claimed, r.Started, r.Finished, r.Settlement.At)
		}
	}
	all := make(sighted, 0, len(met))
	for s := range met {
		all = append(all, s)
	}
	return all
}

// times returns when a command in doubt may have happened, as far as it makes a difference: when it was
// sent; at the moments that later replies and records tell, if it is what they tell of; and late enough
// that its lease still held when another command was decided. [borders] has the rest.
func (s sighted) times(x *exchange) []machine.Instant {
	times := []machine.Instant{x.after}
	length := durations(x.command)
	for _, one := range s {
		at := one.at
		switch d := length[one.field]; {
		case one.field == someReply && length[itsLease] != 0:
			at = at.Add(-length[itsLease]) + 1
		case one.field == someReply, one.field != itself && d == 0:
			continue
		case one.field != itself:
			at = at.Add(-d)
		}
		if at > x.after {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// durations are those that a command decides.
func durations(c machine.Command) map[field]time.Duration {
	switch c := c.(type) {
	case machine.Claim:
		return map[field]time.Duration{itsLease: c.Lease}
	case machine.Begin:
		return map[field]time.Duration{itsLease: c.Lease}
	case machine.Start:
		return map[field]time.Duration{itsLease: c.Lease}
	case machine.Renew:
		return map[field]time.Duration{itsLease: c.Lease}
	case machine.Complete:
		return map[field]time.Duration{itsWindow: c.Window, itsMemory: c.Remember}
	case machine.Fail:
		return map[field]time.Duration{itsMemory: c.Remember}
	case machine.Settle:
		return map[field]time.Duration{itsWindow: c.Window, itsMemory: c.Remember}
	}
	return nil
}

// last returns the latest time that a reply tells.
func (s sighted) last() (at machine.Instant) {
	for _, one := range s {
		if one.field == someReply {
			at = max(at, one.at)
		}
	}
	return at
}

// borders are the instants between two at which a record changes how it looks, and the ones just before.
func borders(r *machine.Record, after, until machine.Instant) []machine.Instant {
	if r == nil {
		return nil
	}
	var all []machine.Instant
	for _, end := range []machine.Instant{r.LeaseEnd, r.WindowEnd, r.ForgottenAt()} {
		if end > after && end <= until {
			all = append(all, end-1, end)
		}
	}
	return all
}
