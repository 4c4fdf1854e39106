package pgstore

import (
	"math"
	"sync"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// half is the first half of a digest, by which a group tells its records apart.
type half [16]byte

// batch is a group as the arguments of reprise_commit.
type batch struct {
	writes map[half]*form.Write
	fresh  struct {
		head, tail, lock, record, forget array
		before, since                    array
		allBefore, allSince              machine.Instant // the bounds that all have in common
	}
	ended struct {
		head, tail, lock, claimed, seen, record, answer, remember array
	}
}

// batches are those that nobody uses: their memory is used again.
type batches struct{ pool sync.Pool }

func (p *batches) get() *batch {
	b, ok := p.pool.Get().(*batch)
	if !ok {
		b = &batch{writes: map[half]*form.Write{}}
	}
	for _, a := range b.arrays() {
		a.reset()
	}
	b.fresh.allBefore, b.fresh.allSince = math.MaxInt64, 0
	return b
}

func (p *batches) put(b *batch) {
	clear(b.writes)
	p.pool.Put(b)
}

func (b *batch) arrays() []*array {
	f, e := &b.fresh, &b.ended
	return []*array{
		&f.head, &f.tail, &f.lock, &f.record, &f.forget, &f.before, &f.since,
		&e.head, &e.tail, &e.lock, &e.claimed, &e.seen, &e.record, &e.answer, &e.remember,
	}
}

func (b *batch) has(w *form.Write) bool { return b.writes[half(w.Digest[:16])] == w }

// add adds a write, unless one of the same key is there.
func (b *batch) add(w *form.Write) {
	if b.writes[half(w.Digest[:16])] != nil {
		return
	}
	b.writes[half(w.Digest[:16])] = w
	if w.Known == nil {
		f := &b.fresh
		f.head.add(headForm(&w.Digest))
		f.tail.add(tailForm(&w.Digest))
		f.lock.add(lockForm(&w.Digest))
		f.record.add(w.Packed.Record)
		f.forget.add(bigintOrNull(w.Forget))
		f.before.addBigint(int64(w.Before))
		f.since.addBigint(int64(w.Since))
		f.allBefore, f.allSince = min(f.allBefore, w.Before), max(f.allSince, w.Since)
		return
	}
	e := &b.ended
	e.head.add(headForm(&w.Digest))
	e.tail.add(tailForm(&w.Digest))
	e.lock.add(lockForm(&w.Digest))
	e.claimed.addBigint(int64(w.Known.Record.Claimed))
	e.seen.add(w.Known.Packed)
	e.record.add(w.Packed.Record)
	e.answer.add(w.Packed.Answer)
	e.remember.addBigint(int64(w.Remember))
}

// arguments are those of reprise_commit.
func (b *batch) arguments() [][]byte {
	f, e := &b.fresh, &b.ended
	return [][]byte{
		f.head.of(oidUUID), f.tail.of(oidUUID), f.lock.of(oidBigint), f.record.of(oidBytea), f.forget.of(oidBigint),
		f.before.of(oidBigint), f.since.of(oidBigint), bigint(int64(f.allBefore)), bigint(int64(f.allSince)),
		e.head.of(oidUUID), e.tail.of(oidUUID), e.lock.of(oidBigint), e.claimed.of(oidBigint), e.seen.of(oidBytea),
		e.record.of(oidBytea), e.answer.of(oidBytea), e.remember.of(oidBigint),
	}
}

// read notes what reprise_commit says was written.
func (b *batch) read(columns [][]byte) error {
	if len(columns) != 4 {
		return errColumns
	}
	for _, kind := range [][][]byte{columns[:2], columns[2:]} {
		at := machine.Instant(readBigint(kind[0]))
		err := readUUIDs(kind[1], func(head []byte) {
			if w := b.writes[half(head)]; w != nil {
				w.Written, w.At = true, at
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
