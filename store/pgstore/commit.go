package pgstore

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// write is one record that is written with others: a new one, or the answer of one that is known. What
// comes of it is decided before it is sent, at a time that stands for the server's: a packed record has no
// time of its own, and everything else is moved to the server's time afterwards.
type write struct {
	digest machine.Digest
	packed row
	known  *gather.Remembered // of an answer: what it is the answer to

	// Of a new record: when it may be made (before is exclusive), and how long after its claim it is
	// forgotten, zero for never.
	since, before machine.Instant
	forget        machine.Instant
	// Of an answer: how long after it is written it is forgotten.
	remember machine.Instant

	// What is decided, and when.
	next  *machine.Record
	reply machine.Reply
	stood machine.Instant

	// What became of it. Neither written nor in doubt: it was left alone, and nothing has changed.
	written bool
	at      machine.Instant // by the server's clock
	doubt   error
}

// newRecord returns the write of a new record. Whether it is within the claim's bounds the server decides.
func newRecord(c machine.Claim, command machine.Command) *write {
	w := &write{digest: c.Scope.Digest, since: c.CreateFrom, before: c.CreateBefore, stood: machine.InstantOf(time.Now())}
	if w.before == 0 {
		w.before = math.MaxInt64
	}
	w.next, w.reply = machine.Step(nil, unbounded(command), w.stood.Time())
	w.packed = pack(w.next)
	if end := w.next.ForgottenAt(); end != 0 {
		w.forget = end - w.stood
	}
	return w
}

// unbounded returns a claim without its bounds.
func unbounded(command machine.Command) machine.Command {
	switch c := command.(type) {
	case machine.Claim:
		c.CreateBefore, c.CreateFrom = 0, 0
		return c
	case machine.Begin:
		c.CreateBefore, c.CreateFrom = 0, 0
		return c
	}
	return command
}

// newAnswer returns the write of an answer; nil if the machine, on what is known, decides otherwise.
func newAnswer(known *gather.Remembered, c machine.Complete) *write {
	w := &write{digest: c.Scope.Digest, known: known, stood: machine.InstantOf(time.Now())}
	w.next, w.reply = machine.Step(known.Record, c, w.stood.Time())
	if w.reply.Outcome != machine.CompletedNow {
		return nil
	}
	w.packed, w.remember = pack(w.next), w.next.RememberUntil-w.next.Finished
	return w
}

// settle moves what was decided to the time at which it was written.
func (w *write) settle() (*machine.Record, machine.Reply) {
	times := []*machine.Instant{&w.next.Claimed, &w.next.LeaseEnd, &w.next.Started, &w.reply.At, &w.reply.LeaseEnd}
	if w.known != nil {
		times = []*machine.Instant{
			&w.next.Finished, &w.next.WindowEnd, &w.next.RememberUntil,
			&w.reply.At, &w.reply.Finished, &w.reply.WindowEnd, &w.reply.RememberUntil,
		}
	}
	for _, t := range times {
		if !t.IsZero() {
			*t += w.at - w.stood
		}
	}
	return w.next, w.reply
}

// commit writes a group in one statement, which is a transaction of its own. A key that is in it twice is
// written once. Where the whole group fails because of one of its commands, all are left alone, and each
// is tried by its own caller.
func (s *Store) commit(ctx context.Context, jobs []*gather.Job[write]) {
	if len(jobs) == 1 {
		j := jobs[0]
		j.Err = j.Work.conclude(ctx, s.onAny(ctx, func(conn *pgx.Conn) error { return s.commitOne(ctx, conn, j.Work) }))
		return
	}
	b := s.batches.get()
	defer s.batches.put(b)
	for _, j := range jobs {
		b.add(j.Work)
	}
	err := s.onAny(ctx, func(conn *pgx.Conn) error {
		return s.ask(ctx, conn, request{s.sql.commit, b.arguments(), b.read})
	})
	for _, j := range jobs {
		if b.has(j.Work) {
			j.Err = j.Work.conclude(ctx, err)
		}
	}
}

// conclude says what the error of a write, or of its group, means for it.
func (w *write) conclude(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch w.written = false; {
	case own(err): // left alone
	case certain(err):
		return unsent(ctx, err)
	default:
		w.doubt = explain(err)
	}
	return nil
}

// commitOne writes one record, which costs the server less than a group of one.
func (s *Store) commitOne(ctx context.Context, conn *pgx.Conn, w *write) error {
	r := request{sql: s.sql.begin, row: func(columns [][]byte) error {
		if at := columns[0]; at != nil {
			w.written, w.at = true, machine.Instant(readBigint(at))
		}
		return nil
	}}
	r.arguments = [][]byte{headForm(&w.digest), tailForm(&w.digest), lockForm(&w.digest)}
	if w.known == nil {
		r.arguments = append(r.arguments, w.packed.record, bigintOrNull(w.forget), bigint(int64(w.before)), bigint(int64(w.since)))
	} else {
		r.sql = s.sql.end
		r.arguments = append(r.arguments, bigint(int64(w.known.Record.Claimed)), w.known.Packed, w.packed.record, w.packed.answer, bigint(int64(w.remember)))
	}
	return s.ask(ctx, conn, r)
}
