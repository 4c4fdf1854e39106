package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// look is one record that somebody wants to see.
type look struct {
	digest machine.Digest
	at     time.Time // before the snapshot
	found  fetched
}

// fetched is a row as it comes from the server: all is NULL where there is none.
type fetched struct {
	answered  *bool
	claimedAt *int64
	forgetAt  *int64
	record    []byte
	answer    []byte
}

// unpack returns the record, nil if there is none.
func (f *fetched) unpack(digest machine.Digest) (*machine.Record, error) {
	if f.answered == nil {
		return nil, nil
	}
	packed := row{answered: *f.answered, claimedAt: machine.Instant(*f.claimedAt), record: f.record, answer: f.answer}
	if f.forgetAt != nil {
		packed.forgetAt = machine.Instant(*f.forgetAt)
	}
	return unpack(digest, packed)
}

var errNoRow = errors.New("the server did not answer for every key")

// peek returns the record as it is committed, nil if there is none, and a time before that.
func (s *Store) peek(ctx context.Context, digest machine.Digest) (*machine.Record, machine.Instant, error) {
	l := &look{digest: digest}
	if err := s.looks.do(ctx, l); err == errWithdrawn || err == errLeft {
		return nil, 0, store.Unavailable(context.Cause(ctx))
	} else if err != nil {
		return nil, 0, err
	}
	record, err := l.found.unpack(digest)
	return record, machine.InstantOf(l.at), err
}

// lookUp fetches what a group of callers wants to see. Nothing is changed, so it is tried again on another
// connection if one turns out to be broken, or ended by the server.
func (s *Store) lookUp(ctx context.Context, jobs []*job[look]) {
	err := s.lookUpOnce(ctx, s.pool, jobs)
	if code := sqlState(err); err != nil && (code == "" || doubtful(code)) && ctx.Err() == nil {
		err = s.lookUpOnce(ctx, s.pool, jobs)
	}
	for _, j := range jobs {
		j.err = unsent(ctx, err)
	}
}

// querier is a connection, or a pool of them.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (s *Store) lookUpOnce(ctx context.Context, from querier, jobs []*job[look]) error {
	if len(jobs) == 1 {
		return s.lookUpOne(ctx, from, jobs[0].work)
	}
	heads, tails := make(pgtype.FlatArray[pgtype.UUID], len(jobs)), make(pgtype.FlatArray[pgtype.UUID], len(jobs))
	for i, j := range jobs {
		heads[i], tails[i] = head(j.work.digest), tail(j.work.digest)
	}
	rows, err := from.Query(ctx, s.sql.lookMany, heads, tails)
	if err != nil {
		return err
	}
	seen, i, at, found := 0, 0, time.Time{}, fetched{}
	_, err = pgx.ForEachRow(rows, []any{&i, &at, &found.answered, &found.claimedAt, &found.forgetAt, &found.record, &found.answer}, func() error {
		jobs[i-1].work.at, jobs[i-1].work.found = at, found
		found = fetched{}
		seen++
		return nil
	})
	if err == nil && seen != len(jobs) {
		err = errNoRow
	}
	return err
}

// lookUpOne looks for an answer first: who asks for a key that has a record mostly gets one.
func (s *Store) lookUpOne(ctx context.Context, from querier, l *look) error {
	first, second := head(l.digest), tail(l.digest)
	for _, sql := range []string{s.sql.lookAnswered, s.sql.look} {
		err := from.QueryRow(ctx, sql, first, second).
			Scan(&l.at, &l.found.answered, &l.found.claimedAt, &l.found.forgetAt, &l.found.record, &l.found.answer)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	return errNoRow
}
