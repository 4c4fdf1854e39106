package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// runLinear drives few keys with many clients at once, and looks for one order of all commands in which
// machine.Step, at the times of the replies, gives the very replies that the clients got.
func runLinear(t *testing.T, open func(t *testing.T) Harness) {
	clients, phases, commands := 6, 5, 20
	if proving() {
		phases = 50
	}
	d := newDatabase(t, open(t))
	stores := []store.Store{d.store, d.open(), d.open()}
	var clock atomic.Int64
	histories := make([][]porcupine.Operation, clients)
	now := d.apply(machine.Inspect{Scope: d.scope("clock")}).At
	for phase := range phases {
		var wg sync.WaitGroup
		for client := range clients {
			g := newGenerator(7, now)
			g.Rand = newGenerator(uint64(phase*clients+client), now).Rand
			known := model{} // what this client saw last: it makes its commands nearly right
			wg.Go(func() {
				for range commands {
					command := g.command(known)
					op := porcupine.Operation{ClientId: client, Input: command, Call: clock.Add(1)}
					reply, err := stores[client%len(stores)].Apply(t.Context(), command)
					op.Output, op.Return = reply, clock.Add(1)
					if err != nil {
						t.Errorf("%v: %v", command.Kind(), err)
						return
					}
					histories[client] = append(histories[client], op)
					known.note(command, reply)
				}
			})
		}
		wg.Wait()
		d.harness.Advance(30 * time.Second) // some leases end, some do not
		now = now.Add(30 * time.Second)
	}
	var history []porcupine.Operation
	for _, h := range histories {
		history = append(history, h...)
	}
	if !porcupine.CheckOperations(linearModel, history) {
		t.Fatalf("%d commands have no order in which machine.Step gives these replies", len(history))
	}
	t.Logf("%d commands have an order", len(history))
}

// note keeps what a reply tells about a record.
func (m model) note(command machine.Command, reply machine.Reply) {
	digest := command.Target().Digest
	if reply.Revision == 0 {
		delete(m, digest)
		return
	}
	r := &machine.Record{Attempt: reply.Attempt, Revision: reply.Revision, LeaseEnd: reply.LeaseEnd}
	if reply.Yours {
		switch c := command.(type) {
		case machine.Claim:
			r.Owner = c.Owner.Digest()
		case machine.Begin:
			r.Owner = c.Owner.Digest()
		}
	} else if known := m[digest]; known != nil && known.Attempt == reply.Attempt {
		r.Owner = known.Owner
	}
	m[digest] = r
}

// linearModel is machine.Step, for each key by itself.
var linearModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[machine.Digest][]porcupine.Operation{}
		for _, op := range history {
			digest := op.Input.(machine.Command).Target().Digest
			keys[digest] = append(keys[digest], op)
		}
		parts := make([][]porcupine.Operation, 0, len(keys))
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return (*machine.Record)(nil) },
	Step: func(state, input, output any) (bool, any) {
		got := output.(machine.Reply)
		next, want := machine.Step(state.(*machine.Record), input.(machine.Command), got.At.Time())
		return equalReplies(want, got), next
	},
	Equal: func(a, b any) bool { return equalRecords(a.(*machine.Record), b.(*machine.Record)) },
}
