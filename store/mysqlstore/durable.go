package mysqlstore

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// InnoDB lets others read a commit before it is durable: it lets go of its locks, and only then writes its log. (With a binary log that is
// synced, which MariaDB does not keep unless it is told to, the commit is durable before.) What was read so is gone if the server dies in that
// moment. A caller who had been told of it would have an answer that nobody knows any more, and the key could be run again.
//
// So nothing is told of a record that may be as young as that, before a commit which began after it was read is durable: that makes durable
// whatever was committed before it. There are many such commits where there is much to do; else one is made, for all who wait
// for it. What this process has written itself, and what it has told of before, it knows to be durable.

// settled is how long after the last time that stands in a record it was committed, at the latest: the time is read by the statement that writes
// it, and an effect's transaction is committed next.
const settled = time.Minute

// durability is what is known to be durable.
type durability struct {
	since   atomic.Int64 // an instant: whatever was committed before is
	flushes *gather.Group[struct{}]
	records gather.Recent[uint64] // revisions of those that are
}

// commit notes that a commit at an instant is durable, and so whatever was before it.
func (d *durability) commit(at machine.Instant) { raise(&d.since, at) }

// put notes that a record is durable.
func (d *durability) put(r *machine.Record) { d.records.Put(r.Scope.Digest, r.Revision) }

// has reports whether a record is known to be durable.
func (d *durability) has(r *machine.Record) bool {
	return lastTime(r).Add(settled) < machine.Instant(d.since.Load()) || d.records.Get(r.Scope.Digest) == r.Revision
}

// lastTime is when a record was last changed, as far as it says so.
func lastTime(r *machine.Record) machine.Instant {
	return max(r.Claimed, r.Started, r.Finished, r.Settlement.At)
}

// durable returns when a record that was read is durable. An error says that nobody knows, and nothing was changed.
func (s *Store) durable(ctx context.Context, r *machine.Record) error {
	if r == nil || s.durability.has(r) {
		return nil
	}
	switch err := s.durability.flushes.Do(ctx, &struct{}{}); err {
	case nil:
		s.durability.put(r)
		return nil
	case gather.ErrWithdrawn, gather.ErrLeft:
		return store.Unavailable(context.Cause(ctx))
	default:
		return err
	}
}

// flush makes durable whatever was committed, for all who wait for that.
func (s *Store) flush(ctx context.Context, jobs []*gather.Job[struct{}]) {
	var at machine.Instant
	var err error
	for wait := gather.NewBackoff(); ; {
		err = s.within(ctx, s.steps, func(c *conn) (err error) { at, err = s.flushOn(ctx, c); return err })
		if !held(err) || !wait.Sleep(ctx) { // another place among the digests may be free
			break
		}
	}
	if err == nil {
		s.durability.commit(at)
	}
	for _, j := range jobs {
		j.Err = unsent(ctx, err)
	}
}

// flushOn commits a row that is made and deleted, and returns when that was.
func (s *Store) flushOn(ctx context.Context, c *conn) (machine.Instant, error) {
	key := newFlushKey()
	result, err := c.exec(ctx, s.sql.start.with()+s.sql.flush.with(key)+s.sql.deleteText.with(key)+s.sql.commit.with())
	if err != nil {
		s.letGo(ctx, c)
		return 0, err
	}
	return insertID(result, 1), nil
}

// newFlushKey is nobody's.
func newFlushKey() (key machine.Digest) {
	_, _ = rand.Read(key[:]) // never fails
	return key
}

// durable makes the transaction of an effect one whose commit makes durable what it has read, if that may not be. It leaves nothing behind.
func (c *claim) durable(ctx context.Context, h *heldKey) (flushes bool, err error) {
	if h.record == nil || lastTime(h.record).Add(settled) < h.at {
		return false, nil
	}
	key, place := newFlushKey(), time.Now().UnixMicro()
	if _, err := c.tx.ExecContext(ctx, c.flush.with(place, key)); err != nil {
		return false, err
	}
	_, err = c.tx.ExecContext(ctx, c.remove.with(place, key))
	return true, err
}
