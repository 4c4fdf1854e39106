package storetest

import (
	"testing"

	"github.com/reprise-dev/reprise/machine"
)

// transition is a command that changes a record, with what its retries are answered.
type transition struct {
	name    string
	reach   func(d *database, holder *caller) // the situation before it; nil: absent
	command func(c *caller) machine.Command
	first   machine.Outcome
	again   machine.Outcome // of the same command again
	others  []variation
}

// variation is the same command with one argument changed.
type variation struct {
	name    string
	command func(c *caller) machine.Command
	want    machine.Outcome
}

// runRetries sends every transition again: as it was, which is answered like the first time, and with
// each argument changed, which is a conflict that names it. Neither changes anything (O3, O41, O42).
func runRetries(t *testing.T, open func(t *testing.T) Harness) {
	for _, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, open(t))
			c := newCaller(d.scope("retry"), "holder")
			if tr.reach != nil {
				tr.reach(d, c)
			}
			first := d.expect(tr.first, tr.command(c))
			for range 2 {
				again := d.refuse(tr.again, tr.command(c))
				if again.Revision != first.Revision || again.Attempt != first.Attempt {
					t.Errorf("retry tells attempt %d revision %d, first told %d and %d",
						again.Attempt, again.Revision, first.Attempt, first.Revision)
				}
			}
			for _, v := range tr.others {
				before := d.inspect(c.claim.Scope)
				if reply := d.apply(v.command(twin(c))); reply.Outcome != v.want {
					t.Errorf("with another %s: %v (%s), want %v", v.name, reply.Outcome, reply.Reason, v.want)
				}
				if after := d.inspect(c.claim.Scope); revisionOf(before) != revisionOf(after) {
					t.Errorf("with another %s: the record changed", v.name)
				}
			}
			d.refuse(tr.again, tr.command(c))
		})
	}
}

// vary makes a variation: edit changes a copy of the command.
func vary[C machine.Command](name string, want machine.Outcome, command func(*caller) C, edit func(*C)) variation {
	return variation{name, func(c *caller) machine.Command {
		changed := command(c)
		edit(&changed)
		return changed
	}, want}
}

// byCaller makes a variation of who sends the command.
func byCaller[C machine.Command](name string, want machine.Outcome, edit func(*caller) *caller, command func(*caller) C) variation {
	return variation{name, func(c *caller) machine.Command { return command(edit(c)) }, want}
}

// strangers are the callers that no retry may be taken from.
func strangers[C machine.Command](command func(*caller) C) []variation {
	return []variation{
		byCaller("owner", machine.NotOwner, another, command),
		byCaller("attempt", machine.NotOwner, otherAttempt, command),
		byCaller("invocation", machine.NotOwner, otherInvocation, command),
		byCaller("operation", machine.Stale, otherOperation, command),
		byCaller("revision", machine.Stale, otherRevision, command),
	}
}

func command[C machine.Command](make func(*caller) C) func(*caller) machine.Command {
	return func(c *caller) machine.Command { return make(c) }
}
