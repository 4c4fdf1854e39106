package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// look is one record that somebody wants to see.
type look struct {
	digest machine.Digest
	at     machine.Instant // before the snapshot
	found  *form.Row       // nil: none
}

// record returns what was seen.
func (l *look) record() (*machine.Record, error) {
	if l.found == nil {
		return nil, nil
	}
	return unpack(l.digest, *l.found)
}

// read reads a time and a row.
func (l *look) read(columns [][]byte) (err error) {
	if len(columns) != 6 {
		return errColumns
	}
	l.at = readTimestamp(columns[0])
	l.found, err = readRow(columns[1:])
	return err
}

var errNoRow = errors.New("the server did not answer for every key")

// peek returns the record as it is committed, nil if there is none, and a time before that.
func (s *Store) peek(ctx context.Context, digest machine.Digest) (*machine.Record, machine.Instant, error) {
	l := &look{digest: digest}
	if err := s.looks.Do(ctx, l); err == gather.ErrWithdrawn || err == gather.ErrLeft {
		return nil, 0, store.Unavailable(context.Cause(ctx))
	} else if err != nil {
		return nil, 0, err
	}
	record, err := l.record()
	return record, l.at, err
}

// lookUp fetches what a group of callers wants to see. Nothing is changed, so it is tried again on another
// connection if one turns out to be broken, or ended by the server.
func (s *Store) lookUp(ctx context.Context, jobs []*gather.Job[look]) {
	look := func(conn *pgx.Conn) error { return s.lookUpOn(ctx, conn, jobs) }
	err := s.onAny(ctx, look)
	if code := sqlState(err); err != nil && (code == "" || dsn.StateInDoubt(code)) && ctx.Err() == nil {
		err = s.onAny(ctx, look)
	}
	for _, j := range jobs {
		j.Err = unsent(ctx, err)
	}
}

func (s *Store) lookUpOn(ctx context.Context, conn *pgx.Conn, jobs []*gather.Job[look]) error {
	if len(jobs) == 1 {
		return s.lookUpOne(ctx, conn, jobs[0].Work)
	}
	var heads, tails array
	heads.reset()
	tails.reset()
	for _, j := range jobs {
		heads.add(headForm(&j.Work.digest))
		tails.add(tailForm(&j.Work.digest))
	}
	seen := 0
	err := s.ask(ctx, conn, request{s.sql.lookMany, [][]byte{heads.of(oidUUID), tails.of(oidUUID)}, func(columns [][]byte) error {
		n := readBigint(columns[0])
		if n < 1 || n > int64(len(jobs)) {
			return errColumns
		}
		seen++
		return jobs[n-1].Work.read(columns[1:])
	}})
	if err == nil && seen != len(jobs) {
		err = errNoRow
	}
	return err
}

// lookUpOne looks for an answer first: who asks for a key that has a record mostly gets one.
func (s *Store) lookUpOne(ctx context.Context, conn *pgx.Conn, l *look) error {
	for _, sql := range []string{s.sql.lookAnswered, s.sql.look} {
		seen := false
		err := s.ask(ctx, conn, request{sql, [][]byte{headForm(&l.digest), tailForm(&l.digest)}, func(columns [][]byte) error {
			seen = true
			return l.read(columns)
		}})
		if seen || err != nil {
			return err
		}
	}
	return errNoRow
}
