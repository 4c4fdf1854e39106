package storetest

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/machine"
)

// table states the outcome of every command in every situation.
//
//go:embed table.txt
var table string

// attempts are the commands of table.txt. holder is who brought the record into its situation.
var attempts = map[string]func(holder *caller) machine.Command{
	"claim by another":                 func(c *caller) machine.Command { return another(c).claim },
	"claim by another, seen":           func(c *caller) machine.Command { return seen(another(c), c.hold.Revision).claim },
	"claim by another, seen otherwise": func(c *caller) machine.Command { return seen(another(c), c.hold.Revision+1).claim },
	"claim of another request":         func(c *caller) machine.Command { return otherRequest(seen(another(c), c.hold.Revision)).claim },
	"claim of another request by the holder": func(c *caller) machine.Command {
		return otherRequest(seen(twin(c), c.hold.Revision)).claim
	},
	"claim with an unknown fingerprint version": func(c *caller) machine.Command { return unknownFingerprint(another(c)).claim },
	"claim without the codec":                   func(c *caller) machine.Command { return withoutCodec(another(c)).claim },
	"claim under an older policy":               func(c *caller) machine.Command { return olderPolicy(another(c)).claim },
	"claim by the holder":                       func(c *caller) machine.Command { return twin(c).claim },
	"claim by the holder, other operation":      func(c *caller) machine.Command { return otherOperation(twin(c)).claim },
	"begin by another":                          func(c *caller) machine.Command { return another(c).begin() },
	"begin by another, seen":                    func(c *caller) machine.Command { return seen(another(c), c.hold.Revision).begin() },
	"begin by the holder":                       func(c *caller) machine.Command { return twin(c).begin() },
	"begin by the holder, other invocation":     func(c *caller) machine.Command { return otherInvocation(twin(c)).begin() },
	"start":                                     func(c *caller) machine.Command { return c.start() },
	"start of another invocation":               func(c *caller) machine.Command { return otherInvocation(twin(c)).start() },
	"start by another":                          func(c *caller) machine.Command { return another(c).start() },
	"renew":                                     func(c *caller) machine.Command { return c.renew() },
	"renew by another":                          func(c *caller) machine.Command { return another(c).renew() },
	"renew by another invocation":               func(c *caller) machine.Command { return otherInvocation(twin(c)).renew() },
	"renew of another revision":                 func(c *caller) machine.Command { return otherRevision(twin(c)).renew() },
	"complete":                                  func(c *caller) machine.Command { return c.complete() },
	"complete by another":                       func(c *caller) machine.Command { return another(c).complete() },
	"complete by another invocation":            func(c *caller) machine.Command { return otherInvocation(twin(c)).complete() },
	"complete of another attempt":               func(c *caller) machine.Command { return otherAttempt(twin(c)).complete() },
	"complete of another revision":              func(c *caller) machine.Command { return otherRevision(twin(c)).complete() },
	"fail, no effect":                           func(c *caller) machine.Command { return c.fail(true) },
	"fail, unknown":                             func(c *caller) machine.Command { return c.fail(false) },
	"fail by another":                           func(c *caller) machine.Command { return another(c).fail(true) },
	"fail by another invocation":                func(c *caller) machine.Command { return otherInvocation(twin(c)).fail(true) },
	"fail of another revision":                  func(c *caller) machine.Command { return otherRevision(twin(c)).fail(true) },
	"release":                                   func(c *caller) machine.Command { return c.release() },
	"release by another":                        func(c *caller) machine.Command { return another(c).release() },
	"release of another revision":               func(c *caller) machine.Command { return otherRevision(twin(c)).release() },
	"settle as completed":                       func(c *caller) machine.Command { return otherOperator(c.settle(true)) },
	"settle as retryable":                       func(c *caller) machine.Command { return otherOperator(c.settle(false)) },
	"settle another revision":                   func(c *caller) machine.Command { return otherOperator(otherRevision(twin(c)).settle(true)) },
	"inspect":                                   func(c *caller) machine.Command { return machine.Inspect{Scope: c.claim.Scope} },
	"forget":                                    func(c *caller) machine.Command { return machine.Forget{Scope: c.claim.Scope} },
}

func runTable(t *testing.T, open func(t *testing.T) Harness) {
	want, err := readTable(table)
	if err != nil {
		t.Fatalf("table.txt: %v", err)
	}
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, open(t))
			for name, attempt := range attempts {
				if !d.harness.sampled() || rand.IntN(4) == 0 {
					d.cell(s, name, attempt, want[name][s.name])
				}
			}
		})
	}
}

// cell tries one command in one situation.
func (d *database) cell(s situation, name string, attempt func(*caller) machine.Command, want machine.Outcome) {
	d.Helper()
	holder := newCaller(d.scope(name), "holder")
	s.reach(d, holder)
	before := d.inspect(holder.claim.Scope)
	if before != nil {
		if state, _ := before.Judge(d.apply(machine.Inspect{Scope: holder.claim.Scope}).At); state != s.state {
			d.Fatalf("%s: the record is %v", s.name, state)
		}
	} else if s.state != machine.Absent {
		d.Fatalf("%s: there is no record", s.name)
	}
	reply := d.apply(attempt(holder))
	if reply.Outcome != want {
		d.Errorf("%s: %s: %v (%s), want %v", s.name, name, reply.Outcome, reply.Reason, want)
	}
	now := d.inspect(holder.claim.Scope)
	if changed := revisionOf(before) != revisionOf(now); changed != changes(before, reply) {
		d.Errorf("%s: %s: answered %v, record changed: %v", s.name, name, reply.Outcome, changed)
	}
}

// changes reports whether a reply says that the record changed. A begin that goes on from the same
// owner's claim is answered as the repetition that it is, and starts the record.
func changes(before *machine.Record, reply machine.Reply) bool {
	if reply.Outcome == machine.ReplayedAcquire {
		return reply.Revision != revisionOf(before)
	}
	return reply.Outcome.Applied() && reply.Outcome != machine.Forgotten
}

func revisionOf(r *machine.Record) uint64 {
	if r == nil {
		return 0
	}
	return r.Revision
}

// readTable reads table.txt: a command on a line of its own, then indented lines of an outcome, a
// colon and the situations that have it. Every command names every situation once.
func readTable(text string) (map[string]map[string]machine.Outcome, error) {
	outcomes, known := map[string]machine.Outcome{}, map[string]bool{}
	for o := range machine.Outcome(255) {
		outcomes[o.String()] = o
	}
	for _, s := range situations {
		known[s.name] = true
	}
	cells, command := map[string]map[string]machine.Outcome{}, ""
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line == "" || line[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			command, cells[line] = line, map[string]machine.Outcome{}
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		outcome, ok := outcomes[name]
		if !ok {
			return nil, fmt.Errorf("%s: no outcome %q", command, name)
		}
		for _, s := range strings.Fields(rest) {
			if _, twice := cells[command][s]; twice || !known[s] {
				return nil, fmt.Errorf("%s: situation %q is unknown or named twice", command, s)
			}
			cells[command][s] = outcome
		}
	}
	return cells, checkComplete(cells)
}

func checkComplete(cells map[string]map[string]machine.Outcome) error {
	for name := range attempts {
		if len(cells[name]) != len(situations) {
			return fmt.Errorf("%s: %d situations of %d", name, len(cells[name]), len(situations))
		}
	}
	if len(cells) != len(attempts) {
		return fmt.Errorf("%d commands, %d in the code", len(cells), len(attempts))
	}
	return nil
}
