package mysqlstore

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"slices"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// commit writes a group in one transaction. A key that is in it twice is written once. Where the whole group
// fails because of some of its commands, these are left alone, and each is tried by its own caller.
func (s *Store) commit(ctx context.Context, jobs []*gather.Job[form.Write]) {
	if len(jobs) == 1 {
		w := jobs[0].Work
		jobs[0].Err = conclude(ctx, w, s.on(ctx, func(c *conn) error { return s.writeOne(ctx, c, w) }))
		return
	}
	ws := make([]*form.Write, 0, len(jobs))
	for _, j := range jobs {
		ws = append(ws, j.Work)
	}
	slices.SortStableFunc(ws, func(a, b *form.Write) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	ws = slices.CompactFunc(ws, func(a, b *form.Write) bool { return a.Digest == b.Digest })
	failed := map[*form.Write]error{}
	s.commitAll(ctx, ws, failed)
	for _, j := range jobs {
		j.Err = failed[j.Work]
	}
}

// commitAll writes what nothing stands in the way of, and notes with which errors the rest has failed. What is too much for one message is
// written in two parts.
func (s *Store) commitAll(ctx context.Context, ws []*form.Write, failed map[*form.Write]error) {
	err := s.on(ctx, func(c *conn) error { return s.writeSome(ctx, c, ws) })
	if half := len(ws) / 2; half > 0 && tooLarge(err) {
		s.commitAll(ctx, ws[:half], failed)
		s.commitAll(ctx, ws[half:], failed)
		return
	}
	if err != nil && own(err) || errors.Is(err, errBounds) {
		some := s.unobstructed(ctx, ws)
		if len(some) > 0 && len(some) < len(ws) {
			ws = some
			err = s.on(ctx, func(c *conn) error { return s.writeSome(ctx, c, ws) })
		}
	}
	if err == nil {
		return
	}
	for _, w := range ws {
		if e := conclude(ctx, w, err); e != nil {
			failed[w] = e
		}
	}
}

// conclude says what the error of a write, or of its group, means for it.
func conclude(ctx context.Context, w *form.Write, err error) error {
	if err == nil {
		return nil
	}
	switch w.Written = false; {
	case own(err) || errors.Is(err, errBounds): // left alone
	case certain(err):
		return unsent(ctx, err)
	default:
		w.Doubt = explain(err)
	}
	return nil
}

// writeOne writes one record, by a statement that is a transaction of its own.
func (s *Store) writeOne(ctx context.Context, c *conn, w *form.Write) error {
	if w.Known == nil {
		if !s.returns {
			return s.writeAll(ctx, c, []*form.Write{w})
		}
		return s.makeOne(ctx, c, w)
	}
	result, err := c.exec(ctx, s.sql.end, int64(w.Remember), w.Packed.Record, w.Packed.Answer,
		w.Digest[:], int64(w.Known.Record.Claimed), w.Known.Packed)
	if err == nil {
		w.Written, w.At = result.AllRowsAffected()[0] == 1, insertID(result, 0)-w.Remember
	}
	return err
}

// writeSome writes records in one transaction.
func (s *Store) writeSome(ctx context.Context, c *conn, ws []*form.Write) error {
	if len(ws) == 1 {
		return s.writeOne(ctx, c, ws[0])
	}
	return s.writeAll(ctx, c, ws)
}

// makeOne writes a new record.
func (s *Store) makeOne(ctx context.Context, c *conn, w *form.Write) error {
	arguments := []driver.Value{w.Digest[:], int64(w.Forget), int64(w.Forget), w.Packed.Record, int64(w.Before), int64(w.Since)}
	var at machine.Instant
	err := c.query(ctx, s.sql.begin, arguments, func(_ int, columns []driver.Value) error {
		at = readInstant(columns[0])
		return nil
	})
	switch {
	case number(err) == outOfRange:
		return errBounds
	case err == nil && at == 0:
		return errNoTime
	case err == nil:
		s.credit([]*form.Write{w}, at)
	}
	return err
}

// result is what the driver returns for some statements.
type result interface{ AllLastInsertIds() []int64 }

func insertID(r result, statement int) machine.Instant {
	if ids := r.AllLastInsertIds(); statement < len(ids) {
		return machine.Instant(ids[statement])
	}
	return 0
}

// errBounds: a new record of a group was not within its bounds.
var errBounds = errors.New("not a time at which this record may be made")

func bounded(w *form.Write) bool {
	return w.Known == nil && (w.Since != 0 || w.Before != math.MaxInt64)
}

// writeAll writes records in one transaction and one round trip.
func (s *Store) writeAll(ctx context.Context, c *conn, ws []*form.Write) error {
	fresh, ended := divide(ws)
	limits := slices.ContainsFunc(fresh, bounded)
	open := limits || len(fresh) > 0 && len(ended) > 0
	statement := s.sql.groupTime.append(make([]byte, 0, 1024*len(ws)))
	first := 1
	if open {
		statement, first = s.sql.start.append(statement), 2
	}
	if len(fresh) > 0 {
		statement = s.sql.beginMany.append(statement, newRows(fresh))
	}
	if limits {
		statement = s.sql.within.append(statement, strictest(fresh)...)
	}
	if len(ended) > 0 {
		statement = s.sql.appendEnds(statement, ended)
	}
	if open {
		statement = s.sql.commit.append(statement)
	}
	result, err := c.exec(ctx, string(statement))
	if err != nil {
		if open {
			s.letGo(ctx, c)
		}
		if limits && number(err) == outOfRange {
			return errBounds
		}
		return err
	}
	if len(fresh) > 0 {
		s.credit(fresh, insertID(result, first))
		first++
	}
	if limits {
		first++
	}
	if len(ended) > 0 {
		at := insertID(result, first)
		if n := result.AllRowsAffected()[first]; int(n) == len(ended) {
			s.credit(ended, at)
		} else {
			s.creditSome(ctx, c, ended, at)
		}
	}
	return nil
}

// divide tells new records from answers.
func divide(ws []*form.Write) (fresh, ended []*form.Write) {
	for _, w := range ws {
		if w.Written = false; w.Known == nil {
			fresh = append(fresh, w)
		} else {
			ended = append(ended, w)
		}
	}
	return fresh, ended
}

func newRows(fresh []*form.Write) rows {
	return rows{len(fresh), func(i int, w *writing) {
		w.bytes(fresh[i].Digest[:])
		w.number(int64(fresh[i].Forget))
		w.number(int64(fresh[i].Forget))
		w.bytes(fresh[i].Packed.Record)
	}}
}

func (q *queries) appendEnds(to []byte, ended []*form.Write) []byte {
	list := func(value func(e *form.Write, w *writing)) rows {
		return rows{len(ended), func(i int, w *writing) { value(ended[i], w) }}
	}
	digest := list(func(e *form.Write, w *writing) { w.bytes(e.Digest[:]) })
	first := list(func(e *form.Write, w *writing) { w.bytes(e.Digest[:8]) })
	return q.endMany.append(to,
		first, list(func(e *form.Write, w *writing) { w.number(int64(e.Remember)) }),
		first, list(func(e *form.Write, w *writing) { w.bytes(e.Packed.Answer) }),
		first, list(func(e *form.Write, w *writing) { w.bytes(e.Packed.Record) }),
		digest, first, list(func(e *form.Write, w *writing) { w.bytes(e.Known.Packed) }))
}

// strictest returns the bounds that all new records are within if the first one to end and the last one to begin are.
func strictest(fresh []*form.Write) []any {
	before, since := fresh[0].Before, fresh[0].Since
	for _, w := range fresh[1:] {
		before, since = min(before, w.Before), max(since, w.Since)
	}
	return []any{before, since}
}

// credit notes that writes were done.
func (s *Store) credit(ws []*form.Write, at machine.Instant) {
	s.saw(at)
	for _, w := range ws {
		w.Written, w.At = true, at
	}
}

// creditSome notes which answers of a group were written, where some were not: those that stand there with the
// group's time. One that is the same and has another time is a copy's.
func (s *Store) creditSome(ctx context.Context, c *conn, ended []*form.Write, at machine.Instant) {
	keys := make([]machine.Digest, len(ended))
	for i, w := range ended {
		keys[i] = w.Digest
	}
	found, _, err := s.lookAt(ctx, c, keys)
	for _, w := range ended {
		switch row := found[w.Digest]; {
		case err != nil:
			w.Doubt = err
		case row == nil:
			w.Doubt = errOvertaken
		case bytes.Equal(row.Record, w.Packed.Record):
			w.Written, w.At = row.ForgetAt-w.Remember == at, at
		default:
			// A later attempt was begun instead of the answer. Any other stranger may have come after it.
			r, err := form.Unpack(w.Digest, *row)
			if err == nil && r.Nonce != w.Next.Nonce && r.Attempt <= w.Known.Record.Attempt {
				w.Doubt = errOvertaken
			}
		}
	}
}

// unobstructed returns those writes of a group that failed which nothing is seen to stand in the way of. The
// keys of the others are remembered as held.
func (s *Store) unobstructed(ctx context.Context, ws []*form.Write) []*form.Write {
	there, free, err := s.obstacles(ctx, ws)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ws), func(w *form.Write) bool {
		record, exists := there[w.Digest]
		switch {
		case w.Known != nil:
			return !bytes.Equal(record, w.Known.Packed) || !free[w.Digest]
		case exists:
			s.held.put(w.Digest)
			return true
		}
		now := machine.Instant(s.seen.Load()) // which obstacles has read
		return now >= w.Before || now < w.Since
	})
}

// obstacles returns which keys have a record, also one that is not committed, and of those that are to be
// answered, which nobody holds.
func (s *Store) obstacles(ctx context.Context, ws []*form.Write) (there map[machine.Digest][]byte, free map[machine.Digest]bool, err error) {
	there, free = map[machine.Digest][]byte{}, map[machine.Digest]bool{}
	keys := make([]machine.Digest, 0, len(ws))
	for _, w := range ws {
		keys = append(keys, w.Digest)
	}
	_, ended := divide(ws)
	err = s.on(ctx, func(c *conn) error {
		var now int64
		if err := c.readOne(ctx, s.sql.now.with(), &now); err != nil {
			return err
		}
		s.saw(machine.Instant(now))
		err := s.dirtily(ctx, c, s.sql.present.with(digests(keys)), func(_ int, columns []driver.Value) error {
			digest, err := readDigest(columns[0])
			there[digest] = readBytes(columns[1])
			return err
		})
		if err != nil || len(ended) == 0 {
			return err
		}
		answered := rows{len(ended), func(i int, w *writing) { w.bytes(ended[i].Digest[:]) }}
		return s.skipping(ctx, c, func() error {
			return c.query(ctx, s.sql.free.with(answered), nil, func(_ int, columns []driver.Value) error {
				digest, err := readDigest(columns[0])
				free[digest] = true
				return err
			})
		})
	})
	return there, free, err
}
