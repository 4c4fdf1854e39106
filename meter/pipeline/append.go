package pipeline

import (
	"context"
	"errors"
	"sync"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// appender appends rows for all shards of a worker. Those that come while a commit is under way share the next one: a database
// that has as many writers as there are shards is busy with their locks, and one that has few rows a commit with its disk.
type appender struct {
	ledger *meterledger.Ledger

	mu      sync.Mutex
	busy    bool
	waiting map[meter.Generation][]*appending
}

// appending is what one shard appends.
type appending struct {
	rows  []meter.Row
	added []appended
	done  chan struct{} // closed when it is answered
	lead  chan struct{} // closed when it is its turn to append for all
}

// appended is what became of a row: it was appended, or why it was not.
type appended struct {
	meterledger.Appended
	err error
}

// append is [meterledger.Ledger.AppendDone], in one commit with others. A row that is refused keeps no other from being appended.
func (a *appender) append(ctx context.Context, g meter.Generation, rows []meter.Row) []appended {
	mine := &appending{rows: rows, done: make(chan struct{}), lead: make(chan struct{})}
	a.mu.Lock()
	if a.waiting == nil {
		a.waiting = map[meter.Generation][]*appending{}
	}
	a.waiting[g] = append(a.waiting[g], mine)
	if !a.busy {
		a.busy = true
		close(mine.lead)
	}
	a.mu.Unlock()
	select {
	case <-mine.lead:
		a.commit(ctx, g, a.take(g))
		a.next()
	case <-mine.done:
	}
	return mine.added
}

// take returns those that share a commit: as many as the ledger takes, from the first on.
func (a *appender) take(g meter.Generation) (group []*appending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows, n := 0, 0
	for all := a.waiting[g]; n < len(all) && (n == 0 || rows+len(all[n].rows) <= meterledger.MaxBatch); n++ {
		rows += len(all[n].rows)
	}
	group, a.waiting[g] = a.waiting[g][:n:n], a.waiting[g][n:]
	if len(a.waiting[g]) == 0 {
		delete(a.waiting, g)
	}
	return group
}

// next hands the turn to somebody who waits.
func (a *appender) next() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, all := range a.waiting {
		close(all[0].lead)
		return
	}
	a.busy = false
}

// commit appends the rows of a group, and answers each of it.
func (a *appender) commit(ctx context.Context, g meter.Generation, group []*appending) {
	var rows []meter.Row
	for _, one := range group {
		rows = append(rows, one.rows...)
	}
	added := a.add(ctx, g, rows)
	for _, one := range group {
		one.added, added = added[:len(one.rows)], added[len(one.rows):]
		close(one.done)
	}
}

// add appends rows, in one commit if none of them is refused. Else each half is tried by itself, until the refused ones are alone.
func (a *appender) add(ctx context.Context, g meter.Generation, rows []meter.Row) []appended {
	added, err := a.ledger.AppendDone(ctx, g, rows)
	if _, refused := errors.AsType[*meter.Refusal](err); refused && len(rows) > 1 {
		half := len(rows) / 2
		return append(a.add(ctx, g, rows[:half]), a.add(ctx, g, rows[half:])...)
	}
	all := make([]appended, len(rows))
	for i := range all {
		if all[i].err = err; err == nil {
			all[i].Appended = added[i]
		}
	}
	return all
}
