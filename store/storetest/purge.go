package storetest

import (
	"context"
	"errors"
	"maps"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// runPurge removes what counts as absent, a bounded number at a time, and nothing else (O40).
func runPurge(d *database) {
	purger, ok := store.As[store.Purger](d.store)
	if !ok {
		d.Skip("the store does not purge")
	}
	var due []machine.Scope
	for range 10 {
		c := newCaller(d.scope("due"), "holder")
		completed(d, c)
		due = append(due, c.claim.Scope)
	}
	d.advance(remember)
	d.reachAll()
	at := d.apply(machine.Inspect{Scope: d.scope("clock")}).At
	// What is due counts as absent before it is removed: its key is new.
	taken := newCaller(due[0], "next")
	d.expect(machine.Acquired, taken.claim)
	d.purge(purger, 4, at)
	for digest, r := range maps.Clone(d.model) {
		if state, _ := r.Judge(at); state == machine.Absent {
			delete(d.model, digest) // as the store did
		}
		d.inspect(r.Scope)
	}
	d.expect(machine.NotFound, machine.Forget{Scope: due[1]})
	d.expect(machine.Acquired, newCaller(due[1], "next").claim)
	if n, err := purger.Purge(d.Context(), 1000); n != 0 || err != nil {
		d.Errorf("purged %d once nothing was due: %v", n, err)
	}
}

// runPurgeSpares purges long after every lease, window and memory is over. What nobody can answer for is
// still there, as it was: its key is answered as unknown and never as new, however old it is (O40).
func runPurgeSpares(d *database) {
	purger, ok := store.As[store.Purger](d.store)
	if !ok {
		d.Skip("the store does not purge")
	}
	old := map[string]*caller{}
	for name, reach := range map[string]func(*database, *caller){
		"executing": executing,
		"started": func(d *database, c *caller) {
			claimed(d, c)
			c.learn(d.expect(machine.Started, c.start()))
		},
		"renewed": func(d *database, c *caller) {
			executing(d, c)
			c.learn(d.expect(machine.Renewed, c.renew()))
		},
		"abandoned": failed(false),
	} {
		old[name] = newCaller(d.scope(name), "holder")
		reach(d, old[name])
	}
	finished := newCaller(d.scope("finished"), "holder")
	completed(d, finished)
	d.advance(100 * remember)
	d.purge(purger, 2, d.apply(machine.Inspect{Scope: d.scope("clock")}).At) // the finished one
	delete(d.model, finished.claim.Scope.Digest)
	for name, c := range old {
		if d.inspect(c.claim.Scope) == nil {
			d.Fatalf("%s: the record is gone", name)
		}
		d.refuse(machine.RecoveryRequired, another(c).claim)
		d.refuse(machine.RecoveryRequired, another(c).begin())
	}
	// They can be decided as on the first day.
	for name, c := range old {
		c.learn(d.expect(machine.SettledNow, c.settle(name != "started")))
	}
	d.refuse(machine.Replay, another(old["executing"]).begin())
	d.expect(machine.TakenOver, seen(another(old["started"]), old["started"].hold.Revision).begin())
}

// due returns how many records count as absent at an instant, and how many of these may have vanished by
// themselves.
func (d *database) due(at machine.Instant) (total, faded int64) {
	for _, r := range d.model {
		if state, _ := r.Judge(at); state != machine.Absent {
			continue
		}
		total++
		if d.harness.Fades && r.State != machine.Claimed {
			faded++
		}
	}
	return total, faded
}

// purge purges in parts until nothing is due, which is what the model says is due at an instant.
func (d *database) purge(purger store.Purger, limit int, at machine.Instant) {
	d.Helper()
	total, faded := d.due(at)
	cancelled, cancel := context.WithCancel(d.Context())
	cancel()
	if n, err := purger.Purge(cancelled, limit); n != 0 || !errors.Is(err, store.ErrUnavailable) {
		d.Errorf("purged %d under a context that had ended: %v", n, err)
	}
	removed := 0
	for {
		n, err := purger.Purge(d.Context(), limit)
		if err != nil || n > limit {
			d.Fatalf("purged %d, limit %d: %v", n, limit, err)
		}
		removed += n
		if n < limit {
			break
		}
	}
	if int64(removed) > total || int64(removed) < total-faded {
		d.Errorf("purged %d; %d were due, of which %d may have vanished", removed, total, faded)
	}
}
