package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
)

// write is one record that is written with others: a new one, or the answer of one that is known.
type write struct {
	digest        machine.Digest
	packed        row
	forget        pgtype.Int8     // of a new record: how long after its claim it is forgotten
	before, since machine.Instant // of a new record: the claim's bounds
	known         *remembered     // of an answer: what it is the answer to
	remember      int64           // of an answer: how long after now it is forgotten

	// What became of it. Neither written nor in doubt: it was left alone, and nothing has changed.
	written bool
	at      machine.Instant // by the server's clock
	doubt   error
}

// pack makes the row that a command leads to. The time is of no importance: a packed record has none of
// its own.
func (w *write) pack(previous *machine.Record, command machine.Command) {
	next, _ := machine.Step(previous, command, time.Now())
	w.packed = pack(next)
	if next.State == machine.Completed {
		w.remember = int64(next.RememberUntil - next.Finished)
	} else if end := next.ForgottenAt(); end != 0 {
		w.forget = pgtype.Int8{Int64: int64(end - next.Claimed), Valid: true}
	}
}

// commit writes a group in one statement, which is a transaction of its own. A key that is in it twice is
// written once. Where the whole group fails because of one of its commands, all are left alone, and each
// is tried by its own caller.
func (s *Store) commit(ctx context.Context, jobs []*job[write]) {
	batch := newBatch(len(jobs))
	for _, j := range jobs {
		batch.add(j.work)
	}
	var err error
	if len(jobs) == 1 {
		err = s.commitOne(ctx, jobs[0].work)
	} else {
		err = batch.run(ctx, s)
	}
	for _, j := range jobs {
		w := j.work
		if err == nil {
			continue
		}
		w.written = false
		switch {
		case !batch.has(w) || own(err):
		case certain(err):
			j.err = unsent(ctx, err)
		default:
			w.doubt = explain(err)
		}
	}
}

// commitOne writes one record, which costs the server less than a group of one.
func (s *Store) commitOne(ctx context.Context, w *write) (err error) {
	first, second, lock := head(w.digest), tail(w.digest), lockOf(w.digest)
	var at *machine.Instant // nil: left alone
	if w.known == nil {
		err = s.pool.QueryRow(ctx, s.sql.begin, first, second, lock, w.packed.record, w.forget, int64(w.before), int64(w.since)).Scan(&at)
	} else {
		err = s.pool.QueryRow(ctx, s.sql.end, first, second, lock, int64(w.known.record.Claimed), w.known.packed,
			w.packed.record, w.packed.answer, w.remember).Scan(&at, nil)
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
	}
	if err == nil && at != nil {
		w.written, w.at = true, *at
	}
	return err
}

// batch is a group as the arguments of reprise_commit.
type batch struct {
	writes map[machine.Digest]*write
	fresh  struct {
		head, tail    pgtype.FlatArray[pgtype.UUID]
		lock          pgtype.FlatArray[int64]
		record        pgtype.FlatArray[[]byte]
		forget        pgtype.FlatArray[pgtype.Int8]
		before, since pgtype.FlatArray[int64]
		bounded       bool
	}
	ended struct {
		head, tail           pgtype.FlatArray[pgtype.UUID]
		lock, claimed        pgtype.FlatArray[int64]
		seen, record, answer pgtype.FlatArray[[]byte]
		remember             pgtype.FlatArray[int64]
	}
}

func newBatch(n int) *batch { return &batch{writes: make(map[machine.Digest]*write, n)} }

func (b *batch) has(w *write) bool { return b.writes[w.digest] == w }

func (b *batch) add(w *write) {
	if b.writes[w.digest] != nil {
		return
	}
	b.writes[w.digest] = w
	if w.known == nil {
		f := &b.fresh
		f.head, f.tail, f.lock = append(f.head, head(w.digest)), append(f.tail, tail(w.digest)), append(f.lock, lockOf(w.digest))
		f.record, f.forget = append(f.record, w.packed.record), append(f.forget, w.forget)
		f.before, f.since = append(f.before, int64(w.before)), append(f.since, int64(w.since))
		f.bounded = f.bounded || w.before != 0 || w.since != 0
		return
	}
	e := &b.ended
	e.head, e.tail, e.lock = append(e.head, head(w.digest)), append(e.tail, tail(w.digest)), append(e.lock, lockOf(w.digest))
	e.claimed, e.seen = append(e.claimed, int64(w.known.record.Claimed)), append(e.seen, w.known.packed)
	e.record, e.answer = append(e.record, w.packed.record), append(e.answer, w.packed.answer)
	e.remember = append(e.remember, w.remember)
}

func (b *batch) run(ctx context.Context, s *Store) error {
	f, e := &b.fresh, &b.ended
	if !f.bounded {
		f.before, f.since = nil, nil
	}
	rows, err := s.pool.Query(ctx, s.sql.commit,
		f.head, f.tail, f.lock, f.record, f.forget, f.before, f.since,
		e.head, e.tail, e.lock, e.claimed, e.seen, e.record, e.answer, e.remember)
	if err != nil {
		return err
	}
	var first, second pgtype.UUID
	var at machine.Instant
	_, err = pgx.ForEachRow(rows, []any{&first, &second, &at}, func() error {
		if w := b.writes[whole(first, second)]; w != nil {
			w.written, w.at = true, at
		}
		return nil
	})
	return err
}
