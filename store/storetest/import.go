package storetest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// importer returns the store's, or skips the test.
func (d *database) importer() store.Importer {
	d.Helper()
	i, ok := store.As[store.Importer](d.store)
	if !ok {
		d.Skip("the store does not import")
	}
	return i
}

// now returns the store's time.
func (d *database) now() machine.Instant {
	d.Helper()
	return d.apply(machine.Inspect{Scope: d.scope("clock")}).At
}

// records are those of the model, by digest.
func (d *database) records() []*machine.Record {
	var all []*machine.Record
	for _, r := range d.model {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *machine.Record) int { return bytes.Compare(a.Scope.Digest[:], b.Scope.Digest[:]) })
	return all
}

// take imports records, and notes in the model what the outcomes say.
func (d *database) take(i store.Importer, records []*machine.Record) []store.Import {
	d.Helper()
	outcomes, err := i.Import(d.Context(), records)
	if err != nil || len(outcomes) != len(records) {
		d.Fatalf("imported %d of %d: %v", len(outcomes), len(records), err)
	}
	for n, r := range records {
		if outcomes[n] == store.ImportWritten {
			d.model[r.Scope.Digest] = r
		}
	}
	return outcomes
}

// takeOne imports a record and states what becomes of it.
func (d *database) takeOne(i store.Importer, want store.Import, r *machine.Record) {
	d.Helper()
	if got := d.take(i, []*machine.Record{r}); got[0] != want {
		d.Fatalf("imported a record that is %v: %v, want %v", r.State, got[0], want)
	}
	d.inspect(r.Scope)
}

// runImport takes the records of one database into another, where every command is then answered as in the first.
func runImport(t *testing.T, open func(*testing.T) Harness) {
	from, d := newDatabase(t, open(t)), newDatabase(t, open(t))
	i := d.importer()
	from.reachAll()
	odd := from.odd()
	if behind := from.now().Sub(d.now()); behind > 0 {
		d.advance(behind)
	}
	for _, want := range []store.Import{store.ImportWritten, store.ImportSame} {
		at := d.now()
		for n, got := range d.take(i, from.records()) {
			r := from.records()[n]
			expected := want
			if state, _ := r.Judge(at); state == machine.Absent {
				expected = store.ImportOver
			}
			if got != expected {
				t.Errorf("%v (%v): %v, want %v", r.Scope.Operation, r.State, got, expected)
			}
			d.inspect(r.Scope)
		}
	}
	d.refuse(machine.Replay, odd.claim)
	// The generation is that of the store which has the record now.
	stranger := *from.inspect(odd.claim.Scope)
	stranger.Scope, stranger.Generation = d.scope("stranger"), machine.Generation{1, 2, 3}
	d.takeOne(i, store.ImportWritten, &stranger)
	if got := d.inspect(stranger.Scope).Generation; got == stranger.Generation {
		t.Error("a record was imported with the generation of another store")
	}
	for _, r := range from.records() {
		c := newCaller(r.Scope, "holder")
		c.hold.Attempt, c.hold.Revision = r.Attempt, r.Revision
		for _, command := range []machine.Command{c.claim, c.complete(), seen(another(c), r.Revision).begin()} {
			d.apply(command)
			d.inspect(r.Scope)
		}
	}
	if n, err := i.Import(d.Context(), nil); len(n) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", n, err)
	}
}

// odd makes an answered record of which nothing is usual.
func (d *database) odd() *caller {
	c := newCaller(d.scope("odd"), "holder")
	c.claim.Codecs = append(c.claim.Codecs, "odd/7")
	claimed(d, c)
	c.learn(d.expect(machine.Renewed, c.renew()))
	c.learn(d.expect(machine.Started, c.start()))
	completion := c.complete()
	completion.Response = machine.NewResponse("odd/7", bytes.Repeat([]byte{0, 0xff, 'a'}, 10_000))
	completion.Remember += 1234567
	c.learn(d.expect(machine.CompletedNow, completion))
	return c
}

// runImportReplaces imports a record again and again while it goes on where it came from. What is newer stays.
func runImportReplaces(t *testing.T, open func(*testing.T) Harness) {
	from, d := newDatabase(t, open(t)), newDatabase(t, open(t))
	i := d.importer()
	c := newCaller(from.scope("goes on"), "holder")
	var versions []*machine.Record
	step := func(reply machine.Reply) {
		from.Helper()
		c.learn(reply)
		versions = append(versions, from.inspect(c.claim.Scope))
		d.takeOne(i, store.ImportWritten, versions[len(versions)-1])
	}
	step(from.expect(machine.Acquired, c.begin()))
	if watcher, ok := store.As[store.Watcher](d.store); ok {
		d.woken("an import", watcher, c.claim.Scope, c.hold.Revision, func() { step(from.expect(machine.Renewed, c.renew())) })
	}
	step(from.expect(machine.Failed, c.fail(false)))
	step(from.expect(machine.SettledNow, c.settle(false)))
	next := seen(another(c), c.hold.Revision)
	next.claim.Interruption = machine.Rerun
	c = next
	step(from.expect(machine.TakenOver, c.begin()))
	step(from.expect(machine.CompletedNow, c.complete()))
	for _, older := range versions[:len(versions)-1] {
		d.takeOne(i, store.ImportKept, older)
	}
	// What was made here after the key was forgotten there is not replaced, whatever its revision.
	d.advance(remember)
	d.takeOne(i, store.ImportOver, versions[len(versions)-1])
	own := newCaller(c.claim.Scope, "own")
	d.expect(machine.Acquired, own.begin())
	late := *versions[len(versions)-1]
	late.RememberUntil = late.RememberUntil.Add(remember)
	d.takeOne(i, store.ImportKept, &late)
	// Nor is what was settled here.
	c = newCaller(from.scope("settled here"), "holder")
	failed(false)(from, c)
	d.takeOne(i, store.ImportWritten, from.inspect(c.claim.Scope))
	d.expect(machine.SettledNow, c.settle(true))
	further := *from.inspect(c.claim.Scope)
	further.Revision += 5
	d.takeOne(i, store.ImportKept, &further)
}
