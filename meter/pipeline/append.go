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
	added []meterledger.Appended
	err   error
	done  chan struct{} // closed when it is answered
	lead  chan struct{} // closed when it is its turn to append for all
}

// append is [meterledger.Ledger.AppendDone], in one commit with others.
func (a *appender) append(ctx context.Context, g meter.Generation, rows []meter.Row) ([]meterledger.Appended, error) {
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
	return mine.added, mine.err
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

// commit appends the rows of a group, and answers each of it. Where the rows of one are refused, all of them are tried alone.
func (a *appender) commit(ctx context.Context, g meter.Generation, group []*appending) {
	var rows []meter.Row
	for _, one := range group {
		rows = append(rows, one.rows...)
	}
	added, err := a.ledger.AppendDone(ctx, g, rows)
	var refusal *meter.Refusal
	alone := len(group) > 1 && errors.As(err, &refusal)
	for _, one := range group {
		switch {
		case alone:
			one.added, one.err = a.ledger.AppendDone(ctx, g, one.rows)
		case err != nil:
			one.err = err
		default:
			one.added, added = added[:len(one.rows)], added[len(one.rows):]
		}
		close(one.done)
	}
}
