package storetest

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// lister returns the store's, or skips the test.
func (d *database) lister() store.Lister {
	d.Helper()
	l, ok := store.As[store.Lister](d.store)
	if !ok {
		d.Skip("the store does not list")
	}
	return l
}

// reachAll makes one record in every situation. Those that need the clock come first, so that it does
// not end the others.
func (d *database) reachAll() {
	d.Helper()
	timed := []string{"executing-old", "abandoned-old", "forgotten-claim", "forgotten-completed", "forgotten-retryable", "expired",
		"interrupted", "lapsed-rerun", "claimed-lapsed", "revived"}
	order := slices.Clone(situations)
	slices.SortStableFunc(order, func(a, b situation) int { return cmp.Compare(place(timed, a.name), place(timed, b.name)) })
	for _, s := range order {
		scope := d.scope("list")
		scope.Operation = "POST /" + s.state.String()
		scope.SecretVersion = uint32(len(s.name)%2) + 1
		s.reach(d, newCaller(scope, "holder"))
	}
}

func place(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

// list reads all pages, and checks what holds for each.
func (d *database) list(l store.Lister, filter store.Filter, limit int, between func(page int)) map[machine.Digest]*machine.Record {
	d.Helper()
	found, cursor, began := map[machine.Digest]*machine.Record{}, "", d.now()
	for page := 1; ; page++ {
		got, err := l.List(d.Context(), filter, cursor, limit)
		if err != nil {
			d.Fatalf("page %d: %v", page, err)
		}
		if got.Partial {
			d.Skip("the store does not look at every record")
		}
		if got.At < began || got.At > d.now() {
			d.Errorf("page %d is of %v, and the store's time was %v before", page, got.At, began)
		}
		if len(got.Records) > limit {
			d.Errorf("page %d has %d records, limit %d", page, len(got.Records), limit)
		}
		if len(got.Unreadable) > 0 {
			d.Errorf("page %d: unreadable: %v", page, got.Unreadable)
		}
		for _, r := range got.Records {
			if found[r.Scope.Digest] != nil {
				d.Errorf("page %d: %v is listed twice", page, r.Scope.Digest)
			}
			if !filter.Match(r, got.At) {
				d.Errorf("page %d: %v (%v) does not fit", page, r.Scope.Digest, r.State)
			}
			found[r.Scope.Digest] = r
		}
		if got.Next == "" {
			return found
		}
		if cursor = got.Next; between != nil {
			between(page)
		}
	}
}

// runList compares listings by every filter with the model.
func runList(d *database) {
	l := d.lister()
	d.reachAll()
	at := d.apply(machine.Inspect{Scope: d.scope("clock")}).At
	filters := []store.Filter{
		{}, {Operation: "POST /completed"}, {Operation: "post /completed"}, {Operation: "POST /comp"}, {Operation: "POST /%"},
		{SecretVersion: 1}, {SecretVersion: 2}, {SecretVersion: 3}, {LeaseEndedBefore: at.Add(-lease)}, {LeaseEndedBefore: at},
		{States: []machine.State{machine.Claimed, machine.Abandoned}, SecretVersion: 1},
		{States: []machine.State{machine.Executing}, LeaseEndedBefore: at},
	}
	for state := range machine.Expired + 1 {
		filters = append(filters, store.Filter{States: []machine.State{state}})
	}
	for _, filter := range filters {
		want := map[machine.Digest]*machine.Record{}
		for digest, r := range d.model {
			if filter.Match(r, at) {
				want[digest] = r
			}
		}
		for _, limit := range []int{1, 4, 1000} {
			if got := d.list(l, filter, limit, nil); !maps.EqualFunc(want, got, equalRecords) {
				d.Errorf("%+v, limit %d (-want +got):\n%s", filter, limit, gocmp.Diff(want, got, comparison...))
			}
		}
	}
	abandoned := d.list(l, store.Filter{States: []machine.State{machine.Abandoned}}, 10, nil)
	interrupted := 0
	for _, r := range abandoned {
		if r.State == machine.Executing {
			interrupted++
		}
	}
	if interrupted != 2 || len(abandoned) != 4 {
		d.Errorf("%d abandoned, %d of them interrupted; want 4 and 2", len(abandoned), interrupted)
	}
}

// runListWhileChanging turns pages while records come, change and go. Those that are there all the time
// are listed once.
func runListWhileChanging(d *database) {
	l := d.lister()
	var going []*caller
	staying := map[machine.Digest]bool{}
	for i := range 30 {
		c := newCaller(d.scope("page"), "holder")
		claimed(d, c)
		if i%3 == 0 {
			going = append(going, c)
			continue
		}
		staying[c.claim.Scope.Digest] = true
	}
	found := d.list(l, store.Filter{}, 4, func(page int) {
		if len(going) > 0 {
			d.expect(machine.Released, going[0].release())
			going = going[1:]
		}
		if page < 10 {
			claimed(d, newCaller(d.scope("new"), "holder"))
		}
	})
	for digest := range staying {
		if found[digest] == nil {
			d.Errorf("%v was there all the time and is not listed", digest)
		}
	}
	if _, err := l.List(d.Context(), store.Filter{}, "no cursor", 10); !errors.Is(err, store.ErrCursor) {
		d.Errorf("a cursor that no page gave: %v", err)
	}
}

// runCount compares the counts with the model.
func runCount(d *database) {
	counter, ok := store.As[store.Counter](d.store)
	if !ok {
		d.Skip("the store does not count")
	}
	d.reachAll()
	began := d.now()
	got, err := counter.Count(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	if got.At < began || got.At > d.now() {
		d.Errorf("counted at %v, and the store's time was %v before", got.At, began)
	}
	if got.Sampled {
		d.Skip("the store estimates")
	}
	want := map[machine.State]int64{}
	for _, r := range d.model {
		if state, _ := r.Judge(got.At); state != machine.Absent {
			want[state]++
		}
	}
	due, faded := d.due(got.At)
	maps.DeleteFunc(got.States, func(_ machine.State, n int64) bool { return n == 0 })
	if diff := gocmp.Diff(want, got.States); diff != "" || got.Due > due || got.Due < due-faded {
		d.Errorf("due %d, want %d, of which %d may have vanished; states (-want +got):\n%s", got.Due, due, faded, diff)
	}
}
