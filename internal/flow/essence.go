package flow

import "time"

// Essence returns the flow as it is at an instant, from which its times count from then on, without what
// can no longer matter. Flows with one essence behave alike; package explore tells worlds apart by it.
func (f Flow) Essence(now time.Duration) Flow {
	e := Flow{config: f.config, phase: f.phase, candidate: f.candidate, answered: f.answered}
	e.config.Wait = 0
	switch f.phase {
	case claiming:
		e.config.Wait = max(0, f.config.Wait-now)
		e.seen, e.takeovers, e.doubt = f.seen, f.takeovers, f.doubt
		e.sentAt, e.until = f.since(f.sentAt, now), max(0, f.until-now)
	case acting, starting:
		e.attempt, e.revision, e.held, e.started, e.result = f.attempt, f.revision, f.held, f.started, f.result
		e.heldUntil, e.renewAt = max(0, f.heldUntil-now), max(0, f.renewAt-now)
		e.sentAt, e.lost = f.since(f.sentAt, now), f.lost
		if f.phase == starting {
			e.until = max(0, f.until-now)
		}
	case recording, asking, cleaning:
		e.attempt, e.revision, e.held, e.started, e.result = f.attempt, f.revision, f.held, f.started, f.result
		e.command = f.command
		if !f.answered {
			e.until = max(0, f.until-now)
		}
	}
	return e
}

// since is when something was sent, on a clock that begins now. A lease that counts from before a lease's
// length is over in any case.
func (f Flow) since(sent, now time.Duration) time.Duration { return max(sent-now, -f.config.Lease) }
