package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const (
	racers  = 24 // callers that send at the same time
	handles = 4  // that they are spread over
	rounds  = 8
)

// contest is a race for one change: whoever is first changes the record, and everybody else is told.
type contest struct {
	name    string
	reach   func(d *database, holder *caller)
	command func(holder *caller, racer int) machine.Command
	winner  []machine.Outcome // exactly one racer gets one of these
	losers  []machine.Outcome // and all others one of these
}

// contests are the changes that may happen once, however many ask at the same time (O1, O2, O13, O28).
var contests = []contest{
	{"claim", nil, func(c *caller, racer int) machine.Command { return rival(c, racer).claim },
		one(machine.Acquired), one(machine.InProgress)},
	{"begin", nil, func(c *caller, racer int) machine.Command { return rival(c, racer).begin() },
		one(machine.Acquired), one(machine.InProgress)},
	{"the same claim", nil, func(c *caller, _ int) machine.Command { return c.claim },
		one(machine.Acquired), one(machine.ReplayedAcquire)},
	{"take over a lapsed claim", lapse(claimed), takeOver, one(machine.TakenOver), one(machine.InProgress)},
	{"take over a lapsed execution", lapse(rerun(executing)), takeOver, one(machine.TakenOver), one(machine.InProgress)},
	{"take over a retryable record", failed(true), takeOver, one(machine.TakenOver), one(machine.InProgress)},
	{"claim a forgotten key", after(completed, remember), takeOver, one(machine.Acquired), one(machine.InProgress)},
	{"start one claim twice", claimed, func(c *caller, racer int) machine.Command {
		run := twin(c)
		run.hold.Nonce = nonce(fmt.Sprint(racer))
		return run.start()
	}, one(machine.Started), one(machine.InProgress)},
	{"renew from one revision", executing, func(c *caller, racer int) machine.Command {
		run := twin(c)
		run.hold.Operation = operation(fmt.Sprint(racer))
		return run.renew()
	}, one(machine.Renewed), one(machine.Stale)},
	{"the same completion", executing, func(c *caller, _ int) machine.Command { return c.complete() },
		one(machine.CompletedNow), one(machine.AlreadyCompleted)},
	{"complete and take over", lapse(rerun(executing)), func(c *caller, racer int) machine.Command {
		if racer == 0 {
			return c.complete()
		}
		return takeOver(c, racer)
	}, []machine.Outcome{machine.CompletedNow, machine.TakenOver}, []machine.Outcome{machine.Replay, machine.NotOwner, machine.InProgress}},
	{"settle both ways, and the late owner", lapse(executing), func(c *caller, racer int) machine.Command {
		if racer == 0 {
			return c.complete()
		}
		decision := c.settle(racer%2 == 0)
		decision.Operation = operation(fmt.Sprint(racer))
		return decision
	}, []machine.Outcome{machine.SettledNow, machine.CompletedNow}, []machine.Outcome{machine.Stale, machine.NotOwner}},
}

func one(o machine.Outcome) []machine.Outcome { return []machine.Outcome{o} }

func rival(c *caller, racer int) *caller {
	r := newCaller(c.claim.Scope, fmt.Sprint("racer ", racer))
	r.claim.Interruption = c.claim.Interruption
	return r
}

func takeOver(c *caller, racer int) machine.Command {
	return seen(rival(c, racer), c.hold.Revision).begin()
}

func runRaces(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range contests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, open(t))
			stores := []store.Store{d.store}
			for range handles - 1 {
				stores = append(stores, d.open())
			}
			for range rounds {
				c.run(d, stores)
			}
		})
	}
}

func (c contest) run(d *database, stores []store.Store) {
	holder := newCaller(d.scope("race"), "holder")
	if c.reach != nil {
		c.reach(d, holder)
	}
	commands := make([]machine.Command, racers)
	for racer := range commands {
		commands[racer] = c.command(holder, racer)
	}
	replies := together(d, stores, commands)
	winners := 0
	for racer, reply := range replies {
		switch {
		case slices.Contains(c.winner, reply.Outcome):
			winners++
			// What the winner was told is what is there.
			found, err := d.store.Apply(d.Context(), machine.Inspect{Scope: holder.claim.Scope})
			if err != nil || found.Revision != reply.Revision || found.Attempt != reply.Attempt {
				d.Errorf("%v told attempt %d revision %d, there is %d and %d: %v", reply.Outcome,
					reply.Attempt, reply.Revision, found.Attempt, found.Revision, err)
			}
		case !slices.Contains(c.losers, reply.Outcome):
			d.Errorf("racer %d (%v): %v", racer, commands[racer].Kind(), reply.Outcome)
		}
	}
	if winners != 1 {
		d.Errorf("%d of %d won", winners, racers)
	}
}

// together sends all commands at once, spread over the stores, and returns the replies in their order.
func together(d *database, stores []store.Store, commands []machine.Command) []machine.Reply {
	replies := make([]machine.Reply, len(commands))
	fire := make(chan struct{})
	var wg sync.WaitGroup
	for i, command := range commands {
		wg.Go(func() {
			<-fire
			reply, err := stores[i%len(stores)].Apply(d.Context(), command)
			if err != nil {
				d.Errorf("%v: %v", command.Kind(), err)
			}
			replies[i] = reply
		})
	}
	close(fire)
	wg.Wait()
	return replies
}
