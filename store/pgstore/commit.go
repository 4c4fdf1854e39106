package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// commit writes a group in one statement, which is a transaction of its own. A key that is in it twice is
// written once. Where the whole group fails because of one of its commands, all are left alone, and each
// is tried by its own caller.
func (s *Store) commit(ctx context.Context, jobs []*gather.Job[form.Write]) {
	if len(jobs) == 1 {
		j := jobs[0]
		j.Err = conclude(ctx, j.Work, s.onAny(ctx, func(conn *pgx.Conn) error { return s.commitOne(ctx, conn, j.Work) }))
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
			j.Err = conclude(ctx, j.Work, err)
		}
	}
}

// conclude says what the error of a write, or of its group, means for it.
func conclude(ctx context.Context, w *form.Write, err error) error {
	if err == nil {
		return nil
	}
	switch w.Written = false; {
	case own(err): // left alone
	case certain(err):
		return unsent(ctx, err)
	default:
		w.Doubt = explain(err)
	}
	return nil
}

// commitOne writes one record, which costs the server less than a group of one.
func (s *Store) commitOne(ctx context.Context, conn *pgx.Conn, w *form.Write) error {
	r := request{sql: s.sql.begin, row: func(columns [][]byte) error {
		if at := columns[0]; at != nil {
			w.Written, w.At = true, machine.Instant(readBigint(at))
		}
		return nil
	}}
	r.arguments = [][]byte{headForm(&w.Digest), tailForm(&w.Digest), lockForm(&w.Digest)}
	if w.Known == nil {
		r.arguments = append(r.arguments, w.Packed.Record, bigintOrNull(w.Forget), bigint(int64(w.Before)), bigint(int64(w.Since)))
	} else {
		r.sql = s.sql.end
		r.arguments = append(r.arguments, bigint(int64(w.Known.Record.Claimed)), w.Known.Packed, w.Packed.Record, w.Packed.Answer, bigint(int64(w.Remember)))
	}
	return s.ask(ctx, conn, r)
}
