package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// History is how long a random history is.
type History struct {
	Seed  uint64
	Steps int
}

// RandomHistory drives a database with random commands of several callers on several keys, through two
// handles, while its clock moves, and compares every reply and every record with the model. A failure
// names the seed and the commands on that key.
func RandomHistory(t testing.TB, h Harness, history History) {
	t.Helper()
	d := newDatabase(t, h)
	stores := []store.Store{d.store, d.open()}
	g := newGenerator(history.Seed, d.apply(machine.Inspect{Scope: d.scope("clock")}).At)
	told := map[machine.Digest][]string{}
	outcomes := map[machine.Outcome]int{}
	for step := range history.Steps {
		if g.one(4) {
			by := g.pause(d.model)
			h.Advance(by)
			g.now = g.now.Add(by)
		}
		command := g.command(d.model)
		digest := command.Target().Digest
		reply, err := stores[g.IntN(len(stores))].Apply(t.Context(), command)
		told[digest] = append(told[digest], fmt.Sprintf("%5d %v %+v\n      → %v %v", step, command.Kind(), command, reply.Outcome, err))
		diff := ""
		if err == nil {
			diff = d.follow(command, reply)
			if diff == "" {
				diff = d.compareRecord(stores[g.IntN(len(stores))], command.Target())
			}
		}
		if err != nil || diff != "" {
			t.Fatalf("seed %d, step %d: %v: %v\n%s\nthe history of this key:\n%s",
				history.Seed, step, command.Kind(), err, diff, strings.Join(told[digest], "\n"))
		}
		outcomes[reply.Outcome]++
		g.now = max(g.now, reply.At)
		if reply.Outcome.Applied() {
			g.last[digest] = command
		}
		if d.model[digest] == nil {
			delete(told, digest)
		}
	}
	t.Logf("seed %d: %d commands: %v", history.Seed, history.Steps, outcomes)
	if history.Steps >= 2000 {
		everyOutcome(t, outcomes)
	}
}

func (d *database) compareRecord(s store.Store, scope machine.Scope) string {
	inspect := machine.Inspect{Scope: scope}
	reply, err := s.Apply(d.Context(), inspect)
	if err != nil {
		return err.Error()
	}
	return d.follow(inspect, reply)
}

// everyOutcome keeps the generator honest: a long history meets every outcome there is.
func everyOutcome(t testing.TB, met map[machine.Outcome]int) {
	t.Helper()
	for o := range machine.Outcome(255) {
		if o.String() != "unknown" && o != machine.Invalid && met[o] == 0 {
			t.Errorf("the history never met %v", o)
		}
	}
}

func runRandom(t *testing.T, open func(t *testing.T) Harness) {
	histories := []History{{Seed: 1, Steps: 2000}, {Seed: uint64(time.Now().UnixNano()), Steps: 500}}
	if proving() {
		histories = []History{{Seed: 1, Steps: 50_000}, {Seed: uint64(time.Now().UnixNano()), Steps: 50_000}}
	}
	for i, history := range histories {
		t.Run([]string{"fixed", "fresh"}[i], func(t *testing.T) {
			t.Parallel()
			h := open(t)
			if h.sampled() {
				history.Steps /= 5
			}
			RandomHistory(t, h, history)
		})
	}
}

// generator makes commands that are often nearly right: those find more than wild ones.
type generator struct {
	*rand.Rand
	now    machine.Instant
	scopes []machine.Scope
	last   map[machine.Digest]machine.Command // that changed the record
}

func newGenerator(seed uint64, now machine.Instant) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), now: now, last: map[machine.Digest]machine.Command{}}
	for i := range 5 {
		name := fmt.Sprint("random ", seed, i)
		g.scopes = append(g.scopes, machine.Scope{Operation: "POST /random", SecretVersion: 1, Digest: sum(name)})
	}
	return g
}

func (g *generator) one(in int) bool { return g.IntN(in) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) name() string { return pick(g, "a", "b", "c") }

// pause returns how far the clock moves: often exactly to where some record changes its state.
func (g *generator) pause(m model) time.Duration {
	record := m[pick(g, g.scopes...).Digest]
	if record == nil || g.one(3) {
		return pick(g, time.Microsecond, time.Millisecond, time.Second, time.Minute)
	}
	end := pick(g, record.LeaseEnd, record.LeaseEnd, record.WindowEnd, record.ForgottenAt())
	off := pick(g, -1, 0, 0, 1)
	return max(time.Microsecond, min(end.Sub(g.now)+time.Duration(off)*time.Microsecond, 10*24*time.Hour))
}
