package faulttest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
)

// broken is a store in memory that can be broken anywhere. As it is, it is sound.
type broken struct {
	store.SecretKeeper // sound

	// before changes what the machine decides on, after what it has decided.
	before    func(r *machine.Record, c machine.Command) (*machine.Record, machine.Command)
	after     func(b *broken, c machine.Command, r, next *machine.Record, reply machine.Reply) (*machine.Record, machine.Reply, error)
	back      func(b *broken) // is called when the store comes back
	purgesAll bool

	down    atomic.Bool
	mu      sync.Mutex
	now     time.Time
	records map[machine.Digest]*machine.Record
	changes int
}

func newBroken() *broken {
	b := &broken{records: map[machine.Digest]*machine.Record{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.SecretKeeper = memstore.New(b.clock)
	return b
}

func (b *broken) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *broken) advance(by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(by)
}

// every is true every so many times.
func (b *broken) every(n int) bool {
	b.changes++
	return b.changes%n == 0
}

// trouble is that the store is away for a while.
func (b *broken) trouble() Trouble {
	return Trouble{Name: "away", Begin: func() { b.down.Store(true) }, End: func() {
		b.down.Store(false)
		if b.back != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.back(b)
		}
	}}
}

func (b *broken) Apply(_ context.Context, c machine.Command) (machine.Reply, error) {
	if b.down.Load() {
		return machine.Reply{}, store.Unavailable(errLost)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := c.Target().Digest
	r := b.records[digest]
	if b.before != nil {
		r, c = b.before(r, c)
	}
	next, reply := machine.Step(r, c, b.now)
	var err error
	if b.after != nil {
		next, reply, err = b.after(b, c, r, next, reply)
	}
	if next == nil {
		delete(b.records, digest)
	} else {
		b.records[digest] = next
	}
	if err != nil {
		return machine.Reply{}, err
	}
	return reply, nil
}

func (b *broken) Close() error { return nil }

// List tells everything at once.
func (b *broken) List(_ context.Context, filter store.Filter, _ string, _ int) (store.Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	page := store.Page{At: machine.InstantOf(b.now)}
	for _, digest := range slices.SortedFunc(maps.Keys(b.records), func(x, y machine.Digest) int { return bytes.Compare(x[:], y[:]) }) {
		if r := b.records[digest]; filter.Match(r, page.At) {
			page.Records = append(page.Records, r)
		}
	}
	return page, nil
}

func (b *broken) Purge(context.Context, int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.records)
	maps.DeleteFunc(b.records, func(_ machine.Digest, r *machine.Record) bool {
		state, _ := r.Judge(machine.InstantOf(b.now))
		return state == machine.Absent || b.purgesAll && state == machine.Abandoned
	})
	return before - len(b.records), nil
}

func (b *broken) Count(context.Context) (store.Counts, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := store.Counts{States: map[machine.State]int64{}, At: machine.InstantOf(b.now)}
	for _, r := range b.records {
		if state, _ := r.Judge(counts.At); state == machine.Absent {
			counts.Due++
		} else {
			counts.States[state]++
		}
	}
	return counts, nil
}
