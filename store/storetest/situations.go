package storetest

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// situation is a state that a record can be in, as far as any command can tell.
type situation struct {
	name  string
	state machine.State // as it is judged
	// reach brings the record of holder there. holder knows its attempt and revision afterwards.
	reach func(d *database, holder *caller)
}

// situations are all there are. The names are those of table.txt.
var situations = []situation{
	{"absent", machine.Absent, func(*database, *caller) {}},
	{"claimed", machine.Claimed, claimed},
	{"claimed-lapsed", machine.Claimed, lapse(claimed)},
	{"executing", machine.Executing, executing},
	{"executing-rerun", machine.Executing, rerun(executing)},
	{"interrupted", machine.Abandoned, lapse(executing)},
	{"lapsed-rerun", machine.Executing, lapse(rerun(executing))},
	{"revived", machine.Executing, func(d *database, c *caller) {
		lapse(executing)(d, c)
		c.learn(d.expect(machine.Renewed, c.renew()))
	}},
	{"completed", machine.Completed, completed},
	{"expired", machine.Expired, after(completed, window)},
	{"retryable", machine.Retryable, failed(true)},
	{"abandoned", machine.Abandoned, failed(false)},
	{"settled-completed", machine.Completed, settled(true)},
	{"settled-retryable", machine.Retryable, settled(false)},
	{"forgotten-claim", machine.Absent, after(claimed, lease+7*24*time.Hour)},
	{"forgotten-completed", machine.Absent, after(completed, remember)},
	{"forgotten-retryable", machine.Absent, after(failed(true), remember)},
	{"executing-old", machine.Abandoned, after(executing, 400*24*time.Hour)},
	{"abandoned-old", machine.Abandoned, after(failed(false), 400*24*time.Hour)},
}

func claimed(d *database, c *caller) { c.learn(d.expect(machine.Acquired, c.claim)) }

func executing(d *database, c *caller) { c.learn(d.expect(machine.Acquired, c.begin())) }

func completed(d *database, c *caller) {
	executing(d, c)
	c.learn(d.expect(machine.CompletedNow, c.complete()))
}

func failed(noEffect bool) func(*database, *caller) {
	return func(d *database, c *caller) {
		executing(d, c)
		c.learn(d.expect(machine.Failed, c.fail(noEffect)))
	}
}

func settled(completed bool) func(*database, *caller) {
	return func(d *database, c *caller) {
		failed(false)(d, c)
		c.learn(d.expect(machine.SettledNow, c.settle(completed)))
	}
}

func rerun(reach func(*database, *caller)) func(*database, *caller) {
	return func(d *database, c *caller) {
		c.claim.Interruption = machine.Rerun
		reach(d, c)
	}
}

func after(reach func(*database, *caller), by time.Duration) func(*database, *caller) {
	return func(d *database, c *caller) {
		reach(d, c)
		d.advance(by)
	}
}

func lapse(reach func(*database, *caller)) func(*database, *caller) { return after(reach, lease) }
